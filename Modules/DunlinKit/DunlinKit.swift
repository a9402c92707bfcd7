@_exported public import Facade
@_exported public import enum CRDTCore.Value
@_exported public import struct CRDTCore.TextKey
@_exported public import enum CRDTCore.WriteStrategy
@_exported public import enum SyncProtocol.PeerKind
@_exported public import struct DocStore.MaintenanceProgress
@_exported public import struct DocStore.VerificationReport
