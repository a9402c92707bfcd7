/// One value of a document's field, as an application reads and writes it.
///
/// Two values are equal when their canonical bytes are. `.int(1)` and `.double(1)` differ here, as do the two
/// zeros and two spellings of one accented letter; a NaN equals itself. Queries compare numbers by value.
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
  case map([TextKey: Value])
  /// A counter, shown as its current sum; setting one begins an epoch with that sum.
  ///
  /// An upserted counter is default data: its sum counts as a first increment, and an existing counter does
  /// not change.
  case counter(Int64)
  case attachment(AttachmentToken)
  /// A decimal number that a query computes; a document stores it as its text.
  case decimal(ExactDecimal)
}

/// A reference to a blob: the part of an attachment that a document holds.
public struct AttachmentToken: Hashable, Sendable {
  /// The content hash that identifies the blob.
  public var id: [UInt8]
  /// The blob's length in bytes.
  public var byteCount: UInt64
  public var metadata: [TextKey: TextKey]

  public init(id: [UInt8], byteCount: UInt64, metadata: [TextKey: TextKey] = [:]) {
    self.id = id
    self.byteCount = byteCount
    self.metadata = metadata
  }
}

extension Value {
  public static func == (a: Value, b: Value) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.int(let a), .int(let b)), (.counter(let a), .counter(let b)): a == b
    case (.double(let a), .double(let b)): ValueCodec.canonicalBits(a) == ValueCodec.canonicalBits(b)
    case (.string(let a), .string(let b)): a.isSame(as: b)
    case (.bytes(let a), .bytes(let b)): a == b
    case (.array, .array), (.map, .map): ValueComparison.areEqual(a, b)
    case (.attachment(let a), .attachment(let b)): a == b
    case (.decimal(let a), .decimal(let b)): a == b
    case (.null, _), (.bool, _), (.int, _), (.double, _), (.string, _), (.bytes, _), (.array, _), (.map, _),
      (.counter, _), (.attachment, _), (.decimal, _):
      false
    }
  }

  public func hash(into hasher: inout Hasher) { hash(into: &hasher, levels: Limits.depth) }

  /// Hashes down to `levels` levels; two values that differ only below may have the same hash.
  private func hash(into hasher: inout Hasher, levels: Int) {
    hasher.combine(ValueCodec.tag(of: self))
    switch self {
    case .null, .bool: return
    case .int(let value), .counter(let value): hasher.combine(value)
    case .double(let value): hasher.combine(ValueCodec.canonicalBits(value))
    case .string(let value): value.hashBytes(into: &hasher)
    case .bytes(let value): hasher.combine(value)
    case .array(let elements):
      hasher.combine(elements.count)
      guard levels > 0 else { return }
      for element in elements { element.hash(into: &hasher, levels: levels - 1) }
    case .map(let fields):
      hasher.combine(fields.count)
      guard levels > 0 else { return }
      // The order of the fields does not matter: their hashes are added.
      var sum = 0
      for (key, value) in fields {
        var field = Hasher()
        field.combine(key)
        value.hash(into: &field, levels: levels - 1)
        sum &+= field.finalize()
      }
      hasher.combine(sum)
    case .attachment(let value): hasher.combine(value)
    case .decimal(let value): hasher.combine(value)
    }
  }
}
