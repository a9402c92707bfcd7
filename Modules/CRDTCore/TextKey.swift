/// A text that names something, such as a key of a map, a collection or a statement.
///
/// Its identity is its UTF-8: two keys are equal if their bytes are, and they order by their bytes. Swift's
/// own `==` on `String` is canonical equivalence, for which U+00E9 and U+0065 U+0301 are one text. With it,
/// one of two fields, collections or statements could hide the other. As a property wrapper, `TextKey` gives
/// a property of type `String` this identity.
@propertyWrapper
public struct TextKey: Sendable {
  public var wrappedValue: String

  public init(wrappedValue: String) { self.wrappedValue = wrappedValue }

  public init(_ text: String) { wrappedValue = text }

  /// The key of a wrapped property: `$name`.
  public var projectedValue: TextKey { self }

  /// The text itself.
  public var text: String { wrappedValue }

  public var utf8: String.UTF8View { wrappedValue.utf8 }

  /// Compares the bytes; the result is below, equal to or above zero.
  package func utf8Compare(_ other: TextKey) -> Int { wrappedValue.utf8Compare(other.wrappedValue) }
}

extension TextKey: Hashable, Comparable {
  public static func == (a: TextKey, b: TextKey) -> Bool { a.wrappedValue.isSame(as: b.wrappedValue) }

  public static func < (a: TextKey, b: TextKey) -> Bool { a.wrappedValue.utf8Compare(b.wrappedValue) < 0 }

  public func hash(into hasher: inout Hasher) { wrappedValue.hashBytes(into: &hasher) }
}

extension TextKey: ExpressibleByStringInterpolation, LosslessStringConvertible {
  public init(stringLiteral text: String) { wrappedValue = text }

  public var description: String { wrappedValue }
}

extension TextKey: Codable, CodingKeyRepresentable {
  /// A coding key with the key's text.
  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  public var codingKey: any CodingKey { Key(stringValue: wrappedValue) }

  public init?(codingKey: some CodingKey) { wrappedValue = codingKey.stringValue }

  public init(from decoder: any Decoder) throws {
    wrappedValue = try decoder.singleValueContainer().decode(String.self)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}

extension String {
  /// Whether both have the same UTF-8; Swift's `==` also accepts other spellings of a letter.
  public func isSame(as other: String) -> Bool {
    // This does not use `withUTF8Bytes`, whose errors would cost time here, in every lookup of a dictionary's
    // key.
    let isSame = utf8.withContiguousStorageIfAvailable { bytes in
      other.utf8.withContiguousStorageIfAvailable { others in
        unsafe RawSpan(_unsafeElements: bytes).isEqual(to: RawSpan(_unsafeElements: others))
      }
    }
    if let isSame, let isSame { return isSame }
    return utf8.elementsEqual(other.utf8)
  }

  /// Adds the UTF-8 and a terminator to a hash, so that "a" and "b" together differ from "ab".
  func hashBytes(into hasher: inout Hasher) {
    let isDone: Void? = utf8.withContiguousStorageIfAvailable { bytes in
      unsafe hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
    }
    if isDone == nil { withUTF8Bytes { bytes in bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) } } }
    hasher.combine(0xFF as UInt8)
  }
}
