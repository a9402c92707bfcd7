/// One value of a document's field: what an application reads and writes.
///
/// Two values are equal when their canonical bytes are: `.int(1)` and `.double(1)` differ here, and
/// compare as equal only in queries.
public enum Value: Hashable, Sendable {
  case null
  case bool(Bool)
  case int(Int64)
  case double(Double)
  case string(String)
  case bytes([UInt8])
  /// A register that holds a whole array: the last writer wins.
  case array([Value])
  /// A map: its keys are fields of their own and merge one by one.
  case map([String: Value])
  /// A counter, seen as its current sum; written, it starts a counter at that sum.
  case counter(Int64)
  case attachment(AttachmentToken)
}

/// A reference to a blob: what a document holds of an attachment.
public struct AttachmentToken: Hashable, Sendable {
  /// The content hash that names the blob.
  public var id: [UInt8]
  /// The blob's length in bytes.
  public var byteCount: UInt64
  public var metadata: [String: String]

  public init(id: [UInt8], byteCount: UInt64, metadata: [String: String] = [:]) {
    self.id = id
    self.byteCount = byteCount
    self.metadata = metadata
  }
}
