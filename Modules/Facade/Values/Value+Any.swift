import CRDTCore
import Foundation

/// What an application passes in, as a document holds it.
///
/// Every integer type, `Double`, `Float`, `Bool`, `String`, `[UInt8]` and `Data`, arrays, dictionaries, `nil`
/// and `NSNull`, `DunlinCounter`, `DunlinDocumentID`, what `JSONSerialization` makes, `Date`, which becomes
/// a string of ISO 8601 in UTC with milliseconds, `URL` and `Decimal`, which become their texts, and whatever else is
/// `Encodable`: enumerations, `UUID`, structures.
extension Value {
  /// - Throws: `unsupportedValue` that names the path and the type; `limit` for too deep a nesting.
  init(converting any: Any?, at path: [String] = []) throws(DunlinError) {
    var counters: ReadCounters?
    self = try Self.converting(any, at: path, &counters)
  }

  /// What is to be written at a path of a document.
  ///
  /// - Parameters:
  ///   - any: What the application hands over.
  ///   - path: Where it is to be written.
  ///   - counters: Gets the counters that were read; without it a counter is its sum.
  /// - Returns: The value.
  /// - Throws: As the initialiser.
  static func converting(
    _ any: Any?, at path: [String], _ counters: inout ReadCounters?
  ) throws(DunlinError) -> Value {
    do {
      return try convert(any, depth: path.count, &counters)
    } catch {
      throw error.located(below: path)
    }
  }

  /// Containers around the arguments of a query: the map of a document, and an array of documents, are not counted;
  /// the engine looks closer.
  static let argumentDepth = -2

  /// The arguments of a query.
  ///
  /// - Throws: `unsupportedValue` that names the path and the type; `limit` for too deep a nesting.
  static func fields(_ dictionary: [String: Any?]) throws(DunlinError) -> [TextKey: Value] {
    var counters: ReadCounters?
    return try fields(dictionary, depth: argumentDepth, &counters)
  }

  /// The fields of a document that is written.
  ///
  /// - Throws: As for arguments.
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

  /// What is handed over, below so many containers.
  static func convert(
    _ any: Any?, depth: Int, _ counters: inout ReadCounters?
  ) throws(UnsupportedValue) -> Value {
    guard let any else { return .null }
    if let value = Value(scalar: any) { return value }
    if let counter = any as? DunlinCounter {
      if counters != nil { return counters?.value(of: counter) ?? .null }
      // Its sum, which as a written start would count again what others counted.
      guard counter.own == 0 || !counter.isRead else {
        throw UnsupportedValue(
          message: "a counter that has counted since it was read must be written with upsert; elsewhere use "
            + "its value")
      }
      return .counter(Int64(counter.value))
    }
    if let value = try Value(foundation: any) { return value }
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

  /// What encodes itself: an enumeration, a structure.
  private static func encode(
    _ any: Any, depth: Int, _ counters: inout ReadCounters?
  ) throws(UnsupportedValue) -> Value {
    // An integer that is no value by now does not fit, and would say so by itself for ever.
    guard let encodable = any as? any Encodable, !(any is any BinaryInteger) else {
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
    // The numbers of Foundation fit several casts, and say themselves what they are.
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

  /// Integers of other widths that fit into 64 bits with a sign, and floats.
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
    // Only an object is cast to a class: a dictionary would be made an object first, with all that is in it, to any depth.
    if type(of: any) is AnyClass {
      try self.init(object: any)
      return
    }
    switch any {
    // An exact type: a cast would take any empty array for bytes.
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
    // Its decimal numbers too, which are what it reads long numbers of JSON as: a number stays a number.
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
    guard let text = DecimalText.text(decimal) else {
      throw UnsupportedValue(what: "a decimal that is not a number")
    }
    return .string(text)
  }

  private init(foundation number: NSNumber) {
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "B"): self = .bool(number.boolValue)
    // A boolean says that it is a `char`; one that is neither 0 nor 1 is a small number.
    case UInt8(ascii: "c") where number == 0 || number == 1: self = .bool(number.boolValue)
    case UInt8(ascii: "d"), UInt8(ascii: "f"): self = .double(number.doubleValue)
    case UInt8(ascii: "Q") where number.uint64Value > UInt64(Int64.max): self = .double(number.doubleValue)
    default: self = .int(number.int64Value)
    }
  }

  /// The value as an application reads it: `nil`, `Bool`, `Int`, `Double`, `String`, `[UInt8]`, arrays and
  /// dictionaries; a counter is its sum.
  ///
  /// A dictionary is a `[String: Any?]`, or a `[TextKey: Any?]` where two of its keys are one text to `String`.
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
  /// With Swift's own keys: of keys that are one text to `String`, the one whose bytes come first.
  var byString: [String: Any?] {
    var members = [String: Any?](minimumCapacity: count)
    for (key, value) in self where members.updateValue(value.any, forKey: key.text) != nil {
      // Two spellings: begin again in the order of the bytes.
      return [String: Any?](sorted { $0.key < $1.key }.map { ($0.key.text, $0.value.any) }) { first, _ in
        first
      }
    }
    return members
  }

  /// With Swift's own keys where these tell all keys apart.
  fileprivate var any: Any {
    let members = byString
    return members.count == count ? members : mapValues(\.any)
  }
}

extension Value {
  /// A map that was given by Swift's keys says nothing of further spellings of these, which stay.
  ///
  /// An application that reads a map with two spellings of a key as a `[String: Any?]` sees one of them.
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

/// Sees whether a value of unknown type is an empty optional.
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
