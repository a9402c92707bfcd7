public import CRDTCore

/// How an upsert treats an existing document.
///
/// One of `.merge`, `.insertIfAbsent`, `.insertDefaultIfAbsent` and `.updateDifferentValues`.
public typealias DunlinWriteStrategy = WriteStrategy
