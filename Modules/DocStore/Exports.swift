// The types that public signatures of this module use, so that users of the store need only one import.
@_exported public import enum CRDTCore.Edit
@_exported public import enum CRDTCore.Value
@_exported public import enum CRDTCore.WriteStrategy
@_exported public import struct CRDTCore.DocumentError
@_exported public import struct CRDTCore.DocumentID
@_exported public import struct CRDTCore.KeyTable
@_exported public import struct CRDTCore.Record
@_exported public import struct CRDTCore.RecordView
@_exported public import struct CRDTCore.ResolvedPath
@_exported public import struct CRDTCore.SiteID
@_exported public import struct CRDTCore.SiteSalt
@_exported public import struct CRDTCore.SiteTable
@_exported public import struct CRDTCore.Summary
@_exported public import struct CRDTCore.TextKey
@_exported public import struct CRDTCore.VersionVector
