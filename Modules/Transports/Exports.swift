@_exported public import Links
