import CRDTCore
import Foundation

/// Encodes `Encodable` values as documents and their values.
enum ValueEncoding {
  /// The fields of a document.
  ///
  /// - Throws: `unsupportedValue` with the path of a value that documents cannot hold, or when `value` is not
  ///   a map of fields; `limit` when it is nested too deeply; what the type itself throws.
  static func fields(_ value: some Encodable) throws -> WrittenFields {
    var counters: ReadCounters? = ReadCounters()
    let fields = try map(value, as: "a document is a map of fields", depth: 0, &counters)
    return WrittenFields(
      fields: fields, readCounters: counters?.found ?? [], unnamed: UnnamedType(value, encodedAs: fields))
  }

  /// The arguments of a query, by the names of the fields that `value` encodes.
  ///
  /// - Throws: As for the fields of a document.
  static func arguments(_ value: some Encodable) throws -> [TextKey: Value] {
    var counters: ReadCounters?
    return try map(
      value, as: "the arguments of a query are a map of names to values", depth: Value.argumentDepth,
      &counters)
  }

  private static func map(
    _ value: some Encodable, as wanted: String, depth: Int, _ counters: inout ReadCounters?
  ) throws -> [TextKey: Value] {
    var advice = ""
    do {
      switch try encode(value, depth: depth, &counters) {
      case .map(let fields): return fields
      case .array where counters != nil: advice = ": upsert takes several documents as an Array"
      default: break
      }
    } catch let error as UnsupportedValue {
      throw error.located(below: [])
    }
    throw DunlinError(.unsupportedValue, "\(wanted), which \(type(of: value)) does not encode as\(advice)")
  }

  /// Encodes one value.
  ///
  /// - Parameters:
  ///   - value: The value to encode.
  ///   - depth: The number of containers around the value.
  ///   - counters: Receives the counters that were read, with paths relative to the value.
  /// - Returns: What `value` encodes as.
  /// - Throws: `UnsupportedValue` with the path below the value; what the type itself throws.
  static func encode(
    _ value: some Encodable, depth: Int, _ counters: inout ReadCounters?
  ) throws -> Value {
    let state = EncodingState(counters: counters, depth: depth)
    let encoded = try encode(value, at: Place(state: state))
    // The encoding of a container that is nested too deeply cannot throw by itself.
    guard !state.isTooDeep else { throw UnsupportedValue(isTooDeep: true) }
    counters = state.counters
    return encoded
  }

  fileprivate static func encode(_ value: some Encodable, at place: Place) throws -> Value {
    if let known = try known(value, at: place) { return known }
    // A scalar may be one level below the deepest container.
    guard place.depth <= Limits.depth + 1, place.calls <= Place.callLimit else {
      throw UnsupportedValue(isTooDeep: true)
    }
    let slot = Slot()
    try value.encode(to: SlotEncoder(slot: slot, place: place.called))
    return slot.value ?? .map([:])
  }

  /// Encodes the types whose own encoding would hide their type.
  private static func known(_ value: some Encodable, at place: Place) throws(UnsupportedValue) -> Value? {
    switch value {
    case is URL, is DunlinCounter, is Date, is Data, is Decimal, is DunlinDocumentID, is [UInt8],
      is any BinaryInteger:
      let state = place.state
      let path = place.path.map(\.stringValue)
      let outer = state.counters?.path ?? []
      state.counters?.path += path.map { TextKey($0) }
      defer { state.counters?.path = outer }
      do {
        return try Value.convert(value, depth: place.depth, &state.counters)
      } catch {
        throw path.reversed().reduce(error) { $0.inside($1) }
      }
    default: return nil
    }
  }
}

/// The state that all places of one encoding share.
private final class EncodingState {
  var counters: ReadCounters?
  /// Containers around the value.
  let depth: Int
  var isTooDeep = false

  init(counters: ReadCounters?, depth: Int) {
    self.counters = counters
    self.depth = depth
  }
}

/// The place in a document that is being encoded.
private struct Place {
  /// The limit for nested calls of types' own encodings; a value inside wrappers is not deeper for them.
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

  /// Containers around this place.
  var depth: Int { state.depth + path.count }

  /// Returns whether a map or an array may be here; if it may not, the encoding fails at its end.
  func allowsContainer() -> Bool {
    if depth > Limits.depth { state.isTooDeep = true }
    return depth <= Limits.depth
  }
}

/// The value that is being encoded at one place.
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
    // Otherwise the dictionary would be copied for each member.
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

/// A step of a coding path that no type has declared.
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
