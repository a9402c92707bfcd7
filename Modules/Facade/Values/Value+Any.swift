import CRDTCore
import Foundation
import QueryEngine

/// Converts the values of an application to values of a document.
///
/// These types are supported: every integer type, `Double`, `Float`, `Bool`, `String`, `[UInt8]` and `Data`,
/// arrays, dictionaries, `nil` and `NSNull`, `DunlinCounter`, `DunlinDocumentID`, and the values that
/// `JSONSerialization` makes. `Date` becomes a string of ISO 8601 in UTC with milliseconds. `URL` becomes its
/// text, and so does a `Decimal`, except as an argument of a query. Anything else that is `Encodable` is
/// encoded: enumerations, `UUID`, structures. Other types with raw values become their raw values.
extension Value {
  /// - Throws: `unsupportedValue` with the path and the type; `limit` when values are nested too deep.
  init(converting any: Any?, at path: [String] = []) throws(DunlinError) {
    var counters: ReadCounters?
    self = try Self.converting(any, at: path, &counters).withoutDecimals
  }

  /// The value to write at a path of a document.
  ///
  /// - Parameters:
  ///   - any: The application's value.
  ///   - path: Where it will be written.
  ///   - counters: Collects the counters that were read; without it a counter is its sum, and a decimal
  ///     stays a number.
  /// - Returns: The value.
  /// - Throws: The same errors as the initialiser.
  static func converting(
    _ any: Any?, at path: [String], _ counters: inout ReadCounters?
  ) throws(DunlinError) -> Value {
    do {
      return try convert(any, depth: path.count, &counters)
    } catch {
      throw error.located(below: path)
    }
  }

  /// The initial depth for arguments of a query.
  ///
  /// The map of a document, and an array of documents, do not count. The engine checks the depth exactly.
  static let argumentDepth = -2

  /// The arguments of a query, in which decimals are numbers.
  ///
  /// - Throws: `unsupportedValue` with the path and the type; `limit` when values are nested too deep.
  static func fields(_ dictionary: [String: Any?]) throws(DunlinError) -> [TextKey: Value] {
    var counters: ReadCounters?
    return try fields(dictionary, depth: argumentDepth, &counters)
  }

  /// The fields of a document to be written.
  ///
  /// - Throws: The same errors as for arguments.
  static func written(_ dictionary: [String: Any?]) throws(DunlinError) -> WrittenFields {
    var counters: ReadCounters? = ReadCounters()
    let fields = try fields(dictionary, depth: 0, &counters)
    return WrittenFields(fields: fields, readCounters: counters?.found ?? [])
  }

  private static func fields(
    _ dictionary: [String: Any?], depth: Int, _ counters: inout ReadCounters?
  ) throws(DunlinError) -> [TextKey: Value] {
    do {
      return try convert(dictionary, depth: depth, &counters)
    } catch {
      throw error.located(below: [])
    }
  }

  /// Converts an application's value that is nested in `depth` containers.
  static func convert(
    _ any: Any?, depth: Int, _ counters: inout ReadCounters?
  ) throws(UnsupportedValue) -> Value {
    guard let any else { return .null }
    if let value = Value(scalar: any) { return value }
    if let counter = any as? DunlinCounter {
      if counters != nil { return counters?.value(of: counter) ?? .null }
      // Its sum: written as a new start, it would count again what others have counted.
      guard counter.own == 0 || !counter.isRead else {
        throw UnsupportedValue(
          message: "a counter that has counted since it was read must be written with upsert; elsewhere use "
            + "its value")
      }
      return .counter(Int64(counter.value))
    }
    if let value = try Value(foundation: any) {
      // A document stores a decimal as its text; an argument of a query stays a number.
      return counters == nil ? value : value.withoutDecimals
    }
    guard depth <= Limits.depth else { throw UnsupportedValue(isTooDeep: true) }
    if let dictionary = any as? [String: Any?] {
      return .map(try convert(dictionary, depth: depth, &counters))
    }
    if let dictionary = any as? [TextKey: Any?] {
      return .map(try convert(members: dictionary, depth: depth, &counters))
    }
    if let array = any as? [Any?] {
      var values: [Value] = []
      values.reserveCapacity(array.count)
      for (index, element) in array.enumerated() {
        do {
          values.append(try convert(element, depth: depth + 1, &counters))
        } catch {
          throw error.inside("\(index)")
        }
      }
      return .array(values)
    }
    if let value = Value(number: any) { return value }
    if let optional = any as? any OptionalValue, optional.isNil { return .null }
    return try encode(any, depth: depth, &counters)
  }

  /// Encodes an `Encodable` value, such as an enumeration or a structure, or takes a type's raw value.
  private static func encode(
    _ any: Any, depth: Int, _ counters: inout ReadCounters?
  ) throws(UnsupportedValue) -> Value {
    // An integer that was not converted before this point does not fit; encoding it would recurse without
    // end.
    guard let encodable = any as? any Encodable, !(any is any BinaryInteger) else {
      if let raw = (any as? any RawRepresentable)?.rawValue as Any?,
        let value = Value(scalar: raw) ?? Value(number: raw)
      {
        return value
      }
      throw UnsupportedValue(what: "a value of the type \(type(of: any))")
    }
    do {
      return try ValueEncoding.encode(encodable, depth: depth, &counters)
    } catch let error as UnsupportedValue {
      throw error
    } catch {
      throw UnsupportedValue(what: "a \(type(of: any)), whose encoding failed", underlying: error)
    }
  }

  private static func convert(
    _ dictionary: [String: Any?], depth: Int, _ counters: inout ReadCounters?
  ) throws(UnsupportedValue) -> [TextKey: Value] {
    try convert(members: dictionary.lazy.map { (key: TextKey($0), value: $1) }, depth: depth, &counters)
  }

  private static func convert(
    members: some Collection<(key: TextKey, value: Any?)>, depth: Int, _ counters: inout ReadCounters?
  ) throws(UnsupportedValue) -> [TextKey: Value] {
    var fields = [TextKey: Value](minimumCapacity: members.count)
    for (key, value) in members {
      counters?.path.append(key)
      defer { counters?.path.removeLast() }
      do {
        fields[key] = try convert(value, depth: depth + 1, &counters)
      } catch {
        throw error.inside(key.text)
      }
    }
    return fields
  }

  private init?(scalar any: Any) {
    // Foundation's numbers match several casts, and report their own type.
    if type(of: any) is NSNumber.Type { return nil }
    switch any {
    case let value as String: self = .string(value)
    case let value as Bool: self = .bool(value)
    case let value as Int: self = .int(Int64(value))
    case let value as Double: self = .double(value)
    case let value as DunlinDocumentID: self = value.id.value
    case let value as Value: self = value
    default: return nil
    }
  }

  /// Converts floats, and integers of other widths that fit into 64 signed bits.
  private init?(number any: Any) {
    if let value = any as? any BinaryInteger {
      guard let exact = Int64(exactly: value) else { return nil }
      self = .int(exact)
    } else if let value = any as? Float {
      self = .double(Double(value))
    } else {
      return nil
    }
  }

  private init?(foundation any: Any) throws(UnsupportedValue) {
    // Only an object is cast to a class: the cast would first convert a dictionary to an object, with all its
    // contents.
    if type(of: any) is AnyClass {
      try self.init(object: any)
      return
    }
    switch any {
    // An exact type: a cast would accept any empty array as bytes.
    case let bytes as [UInt8] where type(of: any) == [UInt8].self: self = .bytes(bytes)
    case let data as Data: self = .bytes(Array(data))
    case let decimal as Decimal: self = try Self.decimal(decimal)
    case let date as Date: self = try Self.date(date)
    case let url as URL: self = .string(url.absoluteString)
    default: return nil
    }
  }

  private init?(object any: Any) throws(UnsupportedValue) {
    switch any {
    // This includes `NSDecimalNumber`, the type of long numbers from `JSONSerialization`: a number stays a
    // number.
    case let number as NSNumber: self.init(foundation: number)
    case is NSNull: self = .null
    case let data as Data: self = .bytes(Array(data))
    case let date as Date: self = try Self.date(date)
    default: return nil
    }
  }

  private static func date(_ date: Date) throws(UnsupportedValue) -> Value {
    guard let text = Timestamp.text(date) else {
      throw UnsupportedValue(what: "a date outside the years 0 to 9999")
    }
    return .string(text)
  }

  private static func decimal(_ decimal: Decimal) throws(UnsupportedValue) -> Value {
    guard let exact = DecimalText.exact(decimal) else {
      throw UnsupportedValue(what: "a decimal that is not a number")
    }
    return .decimal(exact)
  }

  private init(foundation number: NSNumber) {
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "B"): self = .bool(number.boolValue)
    // A boolean has the type `char`; a `char` that is neither 0 nor 1 is a small number.
    case UInt8(ascii: "c") where number == 0 || number == 1: self = .bool(number.boolValue)
    case UInt8(ascii: "d"), UInt8(ascii: "f"): self = .double(number.doubleValue)
    case UInt8(ascii: "Q") where number.uint64Value > UInt64(Int64.max): self = .double(number.doubleValue)
    default: self = .int(number.int64Value)
    }
  }

  /// The value as an application reads it.
  ///
  /// It is `nil`, `Bool`, `Int`, `Double`, `String`, `[UInt8]`, an array or a dictionary.
  /// A counter is its sum. A dictionary is a `[String: Any?]`, or a `[TextKey: Any?]` if two of its keys are
  /// equal as `String`.
  var any: Any? {
    switch self {
    case .null, .attachment: nil
    case .bool(let value): value
    case .int(let value), .counter(let value): Int(value)
    case .double(let value): value
    case .string(let value): value
    case .decimal(let value): value.text
    case .bytes(let value): value
    case .array(let values): values.map(\.any)
    case .map(let fields): fields.any
    }
  }
}

extension [TextKey: Value] {
  /// The members by `String`; of keys that are equal as `String`, the one whose bytes sort first wins.
  var byString: [String: Any?] {
    var members = [String: Any?](minimumCapacity: count)
    for (key, value) in self where members.updateValue(value.any, forKey: key.text) != nil {
      // Two spellings of a key: start again in the order of the bytes.
      return [String: Any?](sorted { $0.key < $1.key }.map { ($0.key.text, $0.value.any) }) { first, _ in
        first
      }
    }
    return members
  }

  /// The members by `String` if that distinguishes all keys, otherwise by `TextKey`.
  fileprivate var any: Any {
    let members = byString
    return members.count == count ? members : mapValues(\.any)
  }
}

extension Value {
  /// Adds the stored spellings of keys that a map with `String` keys cannot express.
  ///
  /// An application that reads a map with two spellings of a key as a `[String: Any?]` sees only one of them.
  func keepingSpellings(of standing: Value?, given: Any?) -> Value {
    guard case .map(var fields) = self, case .map(let known)? = standing, let given = given as? [String: Any?]
    else { return self }
    for (key, value) in known where fields[key] == nil && given[key.text] != nil { fields[key] = value }
    for (key, member) in given {
      fields[key] = fields[key]?.keepingSpellings(of: known[key], given: member)
    }
    return .map(fields)
  }
}

/// Detects whether a value of unknown type is an empty optional.
private protocol OptionalValue {
  var isNil: Bool { get }
}

extension Optional: OptionalValue {
  fileprivate var isNil: Bool {
    switch self {
    case .none: true
    case .some: false
    }
  }
}
