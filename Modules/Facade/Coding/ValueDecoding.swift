import CRDTCore
import Foundation

/// Decodes documents as `Decodable` types.
enum ValueDecoding {
  /// - Throws: `decoding` with the type, and the path that does not fit.
  static func decode<T: Decodable>(_ type: T.Type, from value: Value) throws(DunlinError) -> T {
    do {
      return try decode(type, from: value, at: [])
    } catch let error as DecodingError {
      throw DunlinError(error).located("type", "\(type)")
    } catch {
      throw DunlinError(any: error).located("type", "\(type)")
    }
  }

  /// Decodes a document or a row of a result.
  ///
  /// - Parameters:
  ///   - type: The caller's type.
  ///   - fields: The fields of the document, or the columns of the row.
  ///   - id: The id of the document; without one, the column `_id` names it in errors.
  ///   - row: The number of the row in the result, which counts from 0.
  ///   - origin: Where the row comes from.
  /// - Returns: The value.
  /// - Throws: `decoding` with the collection, the document, the row, the type and the path.
  static func decode<T: Decodable>(
    _ type: T.Type, from fields: [TextKey: Value], of id: DocumentID?, row: Int? = nil, _ origin: RowOrigin
  ) throws(DunlinError) -> T {
    do {
      return try decode(type, from: .map(fields))
    } catch {
      throw error.located(document: id ?? Self.id(in: fields), row: row, origin)
    }
  }

  /// The id that a row has as its column `_id`.
  static func id(in fields: [TextKey: Value]) -> DocumentID? {
    fields["_id"].flatMap { try? DocumentID($0) }
  }

  fileprivate static func decode<T: Decodable>(
    _ type: T.Type, from value: Value, at path: [any CodingKey]
  ) throws -> T {
    // Two steps: where `T` is an optional, the cast of `nil` would succeed.
    if let known = try known(type, from: value, at: path), let decoded = known as? T { return decoded }
    return try T(from: ValueDecoder(value: value, codingPath: path))
  }

  /// Decodes the types whose own decoding expects another form than documents have.
  private static func known(_ type: any Any.Type, from value: Value, at path: [any CodingKey]) throws -> Any?
  {
    switch (ObjectIdentifier(type), value) {
    case (ObjectIdentifier(Date.self), .string(let text)):
      guard let date = Timestamp.date(text) else { throw mismatch(type, at: path) }
      return date
    case (ObjectIdentifier(Data.self), .bytes(let bytes)): return Data(bytes)
    case (ObjectIdentifier([UInt8].self), .bytes(let bytes)): return bytes
    case (ObjectIdentifier(URL.self), .string(let text)):
      guard let url = URL(string: text) else { throw mismatch(type, at: path) }
      return url
    case (ObjectIdentifier(DunlinCounter.self), .counter(let sum)): return DunlinCounter(read: sum)
    case (ObjectIdentifier(Decimal.self), .string), (ObjectIdentifier(Decimal.self), .int),
      (ObjectIdentifier(Decimal.self), .counter), (ObjectIdentifier(Decimal.self), .double):
      guard let decimal = Decimal(exactly: value) else { throw mismatch(type, at: path) }
      return decimal
    case (ObjectIdentifier(DunlinDocumentID.self), _): return try DunlinDocumentID(value: value)
    default: return nil
    }
  }

  fileprivate static func mismatch(_ type: any Any.Type, at path: [any CodingKey]) -> DecodingError {
    .typeMismatch(type, .init(codingPath: path, debugDescription: "the value has another type"))
  }
}

extension DunlinError {
  fileprivate init(_ error: DecodingError) {
    let (context, what): (DecodingError.Context?, String) =
      switch error {
      case .keyNotFound(let key, let context): (context, "the field \(key.stringValue) is missing")
      case .valueNotFound(let type, let context): (context, "a \(type) was expected and nothing is there")
      case .typeMismatch(let type, let context): (context, "a \(type) was expected")
      case .dataCorrupted(let context): (context, "a value does not fit")
      @unknown default: (nil, "a value does not fit")
      }
    let path = (context?.codingPath ?? []).map(\.stringValue).joined(separator: ".")
    self.init(
      .decoding, "the document cannot be decoded: \(what)\(path.isEmpty ? "" : " (at \(path))")",
      context: path.isEmpty ? [:] : ["path": path], underlying: error)
  }
}

private struct ValueDecoder: Decoder, SingleValueDecodingContainer {
  let value: Value
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .map(let fields) = value else {
      throw ValueDecoding.mismatch([String: Any].self, at: codingPath)
    }
    return KeyedDecodingContainer(MapDecoder(fields: fields, codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let values) = value else { throw ValueDecoding.mismatch([Any].self, at: codingPath) }
    return ArrayDecoder(values: values, codingPath: codingPath)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { value == .null }

  func decode(_ type: Bool.Type) throws -> Bool {
    guard case .bool(let flag) = value else { throw ValueDecoding.mismatch(type, at: codingPath) }
    return flag
  }

  func decode(_ type: String.Type) throws -> String {
    guard case .string(let text) = value else { throw ValueDecoding.mismatch(type, at: codingPath) }
    return text
  }

  func decode(_ type: Double.Type) throws -> Double {
    guard let number = DunlinDocumentPath(value).double else {
      throw ValueDecoding.mismatch(type, at: codingPath)
    }
    return number
  }

  func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }

  private func whole<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
    guard let number = DunlinDocumentPath(value).int, let exact = T(exactly: number) else {
      throw ValueDecoding.mismatch(type, at: codingPath)
    }
    return exact
  }

  func decode(_ type: Int.Type) throws -> Int { try whole(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try whole(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try whole(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try whole(type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try whole(type) }
  func decode(_ type: UInt.Type) throws -> UInt { try whole(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try whole(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try whole(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try whole(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try whole(type) }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try ValueDecoding.decode(type, from: value, at: codingPath)
  }
}

private struct MapDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let fields: [TextKey: Value]
  let codingPath: [any CodingKey]
  var allKeys: [Key] { fields.keys.compactMap { Key(stringValue: $0.text) } }

  func contains(_ key: Key) -> Bool { fields[key.stringValue] != nil }

  private func nested(_ key: some CodingKey) throws -> ValueDecoder {
    guard let value = fields[key.stringValue] else {
      throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "no such field"))
    }
    return ValueDecoder(value: value, codingPath: codingPath + [key])
  }

  func decodeNil(forKey key: Key) throws -> Bool { try nested(key).decodeNil() }
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try nested(key).decode(type) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { try nested(key).container(keyedBy: type) }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try nested(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { try nested(IndexKey(stringValue: "super")) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try nested(key) }
}

private struct ArrayDecoder: UnkeyedDecodingContainer {
  let values: [Value]
  let codingPath: [any CodingKey]
  var currentIndex = 0
  var count: Int? { values.count }
  var isAtEnd: Bool { currentIndex >= values.count }

  init(values: [Value], codingPath: [any CodingKey]) {
    self.values = values
    self.codingPath = codingPath
  }

  private func current() throws -> ValueDecoder {
    let key = IndexKey(intValue: currentIndex)
    guard currentIndex < values.count else {
      throw DecodingError.valueNotFound(
        Any.self, .init(codingPath: codingPath + [key], debugDescription: "the array has ended"))
    }
    return ValueDecoder(value: values[currentIndex], codingPath: codingPath + [key])
  }

  private mutating func next<R>(_ body: (ValueDecoder) throws -> R) throws -> R {
    let result = try body(try current())
    currentIndex += 1
    return result
  }

  mutating func decodeNil() throws -> Bool {
    let isNil = try current().decodeNil()
    if isNil { currentIndex += 1 }
    return isNil
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next { try $0.decode(type) } }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> { try next { try $0.container(keyedBy: type) } }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try next { $0 } }
}
