import CRDTCore
import Foundation

/// Turns what is `Encodable` into documents.
enum ValueEncoding {
  /// The fields of a document.
  ///
  /// - Throws: `unsupportedValue` with the path of what documents do not hold, or when `value` is no map of
  ///   fields; `limit` for too deep a nesting; what the type itself throws.
  static func fields(_ value: some Encodable) throws -> WrittenFields {
    let state = EncodingState()
    let encoded = try encode(value, at: Place(state: state))
    // A container that is too deep cannot throw by itself.
    guard !state.isTooDeep else { throw EncodingState.tooDeep }
    guard case .map(let fields) = encoded else {
      throw DunlinError(
        .unsupportedValue, "a document is a map of fields, which \(type(of: value)) does not encode as")
    }
    return WrittenFields(fields: fields, readCounters: state.counters?.found ?? [])
  }

  fileprivate static func encode(_ value: some Encodable, at place: Place) throws -> Value {
    if let known = try known(value, at: place) { return known }
    // A scalar may stand one level below the deepest container.
    guard place.path.count <= Limits.depth + 1, place.calls <= Place.callLimit else {
      throw EncodingState.tooDeep
    }
    let slot = Slot()
    try value.encode(to: SlotEncoder(slot: slot, place: place.called))
    return slot.value ?? .map([:])
  }

  /// Types whose own encoding would hide what they are.
  private static func known(_ value: some Encodable, at place: Place) throws -> Value? {
    switch value {
    case let value as URL: return .string(value.absoluteString)
    case is DunlinCounter, is Date, is Data, is Decimal, is DunlinDocumentID, is [UInt8],
      is any BinaryInteger:
      let path = place.path.map(\.stringValue)
      place.state.counters?.path = path.map { TextKey($0) }
      return try Value.converting(value, at: path, &place.state.counters)
    default: return nil
    }
  }
}

/// What all places of one encoding share.
private final class EncodingState {
  var counters: ReadCounters? = ReadCounters()
  var isTooDeep = false

  static var tooDeep: DunlinError {
    DunlinError(.limit, "a value is nested deeper than \(Limits.depth) levels")
  }
}

/// Where in a document something is being encoded.
private struct Place {
  /// Calls of types' own encoding inside each other: a value in a wrapper in a wrapper is no deeper for it.
  static let callLimit = 4 * Limits.depth

  let state: EncodingState
  var path: [any CodingKey] = []
  private(set) var calls = 0

  init(state: EncodingState) { self.state = state }

  var called: Place {
    var place = self
    place.calls += 1
    return place
  }

  func below(_ key: some CodingKey) -> Place {
    var place = self
    place.path.append(key)
    return place
  }

  /// Whether a map or an array may stand here; else the encoding fails when it ends.
  func allowsContainer() -> Bool {
    if path.count > Limits.depth { state.isTooDeep = true }
    return path.count <= Limits.depth
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
    if let known = members[key] { return known }
    let slot = Slot()
    // Else the dictionary would be copied for each member.
    content = .empty
    members[key] = slot
    content = .map(members)
    return slot
  }

  func append() -> Slot {
    guard case .array(var elements) = content else { return Slot() }
    let slot = Slot()
    content = .empty
    elements.append(slot)
    content = .array(elements)
    return slot
  }
}

private struct SlotEncoder: Encoder, SingleValueEncodingContainer {
  let slot: Slot
  let place: Place
  var codingPath: [any CodingKey] { place.path }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    let slot = place.allowsContainer() ? slot : Slot()
    slot.becomeMap()
    return KeyedEncodingContainer(MapEncoder(slot: slot, place: place))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    let slot = place.allowsContainer() ? slot : Slot()
    slot.becomeArray()
    return ArrayEncoder(slot: slot, place: place)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() throws { slot.set(.null) }
  func encode(_ value: Bool) throws { slot.set(.bool(value)) }
  func encode(_ value: String) throws { slot.set(.string(value)) }
  func encode(_ value: Double) throws { slot.set(.double(value)) }
  func encode(_ value: Float) throws { slot.set(.double(Double(value))) }

  func encode<T: Encodable>(_ value: T) throws { slot.set(try ValueEncoding.encode(value, at: place)) }
}

private struct MapEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let slot: Slot
  let place: Place
  var codingPath: [any CodingKey] { place.path }

  private func nested(_ key: some CodingKey) -> SlotEncoder {
    SlotEncoder(slot: slot.member(key.stringValue), place: place.below(key))
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
  let place: Place
  var codingPath: [any CodingKey] { place.path }
  var count: Int { slot.count }

  private func nested() -> SlotEncoder {
    let key = IndexKey(intValue: count)
    return SlotEncoder(slot: slot.append(), place: place.below(key))
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
