import CRDTCore
import Foundation

/// Turns what is `Encodable` into documents.
enum ValueEncoding {
  /// The fields of a document.
  ///
  /// - Throws: `unsupportedValue` with the path of what documents do not hold, or when `value` is no map of
  ///   fields; what the type itself throws.
  static func fields(_ value: some Encodable) throws -> [TextKey: Value] {
    guard case .map(let fields) = try encode(value, at: []) else {
      throw DunlinError(
        .unsupportedValue, "a document is a map of fields, which \(type(of: value)) does not encode as")
    }
    return fields
  }

  fileprivate static func encode(_ value: some Encodable, at path: [any CodingKey]) throws -> Value {
    if let known = try known(value, at: path) { return known }
    guard path.count <= Limits.depth else {
      throw DunlinError(.limit, "a value is nested deeper than \(Limits.depth) levels")
    }
    let slot = Slot()
    try value.encode(to: SlotEncoder(slot: slot, codingPath: path))
    return slot.value ?? .map([:])
  }

  /// Types whose own encoding would hide what they are.
  private static func known(_ value: some Encodable, at path: [any CodingKey]) throws -> Value? {
    switch value {
    case let value as URL: .string(value.absoluteString)
    case is Date, is Data, is DunlinCounter, is DunlinDocumentID, is [UInt8], is any BinaryInteger:
      try Value(converting: value, at: path.map(\.stringValue))
    default: nil
    }
  }
}

/// What is being encoded at one place.
private final class Slot {
  private enum Content {
    case empty
    case value(Value)
    case map([TextKey: Slot])
    case array([Slot])
  }

  private var content = Content.empty

  /// `nil` where the type encoded nothing.
  var value: Value? {
    switch content {
    case .empty: nil
    case .value(let value): value
    case .map(let members): .map(members.compactMapValues(\.value))
    case .array(let elements): .array(elements.map { $0.value ?? .map([:]) })
    }
  }

  var count: Int { if case .array(let elements) = content { elements.count } else { 0 } }

  func set(_ value: Value) { content = .value(value) }

  func becomeMap() { if case .map = content {} else { content = .map([:]) } }

  func becomeArray() { if case .array = content {} else { content = .array([]) } }

  func member(_ key: String) -> Slot {
    guard case .map(var members) = content else { return Slot() }
    let slot = members[key] ?? Slot()
    members[key] = slot
    content = .map(members)
    return slot
  }

  func append() -> Slot {
    guard case .array(var elements) = content else { return Slot() }
    let slot = Slot()
    elements.append(slot)
    content = .array(elements)
    return slot
  }
}

private struct SlotEncoder: Encoder, SingleValueEncodingContainer {
  let slot: Slot
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    slot.becomeMap()
    return KeyedEncodingContainer(MapEncoder(slot: slot, codingPath: codingPath))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    slot.becomeArray()
    return ArrayEncoder(slot: slot, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() throws { slot.set(.null) }
  func encode(_ value: Bool) throws { slot.set(.bool(value)) }
  func encode(_ value: String) throws { slot.set(.string(value)) }
  func encode(_ value: Double) throws { slot.set(.double(value)) }
  func encode(_ value: Float) throws { slot.set(.double(Double(value))) }

  func encode<T: Encodable>(_ value: T) throws { slot.set(try ValueEncoding.encode(value, at: codingPath)) }
}

private struct MapEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let slot: Slot
  let codingPath: [any CodingKey]

  private func nested(_ key: some CodingKey) -> SlotEncoder {
    SlotEncoder(slot: slot.member(key.stringValue), codingPath: codingPath + [key])
  }

  func encodeNil(forKey key: Key) throws { slot.member(key.stringValue).set(.null) }
  func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try nested(key).encode(value) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> { nested(key).container(keyedBy: type) }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    nested(key).unkeyedContainer()
  }
  func superEncoder() -> any Encoder { nested(IndexKey(stringValue: "super")) }
  func superEncoder(forKey key: Key) -> any Encoder { nested(key) }
}

private struct ArrayEncoder: UnkeyedEncodingContainer {
  let slot: Slot
  let codingPath: [any CodingKey]
  var count: Int { slot.count }

  private func nested() -> SlotEncoder {
    let key = IndexKey(intValue: count)
    return SlotEncoder(slot: slot.append(), codingPath: codingPath + [key])
  }

  func encodeNil() throws { slot.append().set(.null) }
  func encode<T: Encodable>(_ value: T) throws { try nested().encode(value) }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    nested().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }
  func superEncoder() -> any Encoder { nested() }
}

/// A step of a coding path that no type declared.
struct IndexKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) {
    self.stringValue = stringValue
    intValue = nil
  }

  init(intValue: Int) {
    stringValue = "\(intValue)"
    self.intValue = intValue
  }
}
