import CRDTCore
public import Foundation

/// What stands at one place of a document, in whatever type the reader wants it.
///
/// The short forms are `nil` where nothing of that type stands; the forms that end in `Value` are then empty.
public struct DunlinDocumentPath: Sendable {
  let stored: Value?

  init(_ stored: Value?) { self.stored = stored }

  /// What stands at a key of this map; nothing for other types.
  public subscript(key: String) -> DunlinDocumentPath {
    guard case .map(let fields)? = stored else { return DunlinDocumentPath(nil) }
    return DunlinDocumentPath(fields[key])
  }

  /// What stands at an index of this array; nothing beyond its end and for other types.
  public subscript(index: Int) -> DunlinDocumentPath {
    guard case .array(let values)? = stored, values.indices.contains(index) else {
      return DunlinDocumentPath(nil)
    }
    return DunlinDocumentPath(values[index])
  }

  /// What stands here as Swift's own types; `nil` for null and for nothing.
  public var value: Any? { stored?.any }

  /// Whether anything stands here; null is something.
  public var exists: Bool { stored != nil }

  /// What stands here as a type of the application's.
  ///
  /// - Returns: `nil` where nothing stands.
  /// - Throws: `decoding` with the path, from here, that does not fit.
  public func decoded<T: Decodable>(as type: T.Type = T.self) throws(DunlinError) -> T? {
    guard let stored else { return nil }
    return try ValueDecoding.decode(type, from: stored)
  }

  public var string: String? { if case .string(let value)? = stored { value } else { nil } }
  public var stringValue: String { string ?? "" }

  /// An integer or a counter's sum, or a floating-point number that is whole.
  public var int: Int? {
    switch stored {
    case .int(let value)?, .counter(let value)?: Int(value)
    case .double(let value)?: Int(exactly: value)
    default: nil
    }
  }

  /// As `int`; a floating-point number loses its fraction.
  public var intValue: Int {
    if case .double(let value)? = stored { return Int(exactly: value.rounded(.towardZero)) ?? 0 }
    return int ?? 0
  }

  /// Any number as a floating-point one.
  public var double: Double? {
    switch stored {
    case .int(let value)?, .counter(let value)?: Double(value)
    case .double(let value)?: value
    default: nil
    }
  }

  public var doubleValue: Double { double ?? 0 }

  public var float: Float? { double.map { Float($0) } }
  public var floatValue: Float { float ?? 0 }

  public var bool: Bool? { if case .bool(let value)? = stored { value } else { nil } }
  public var boolValue: Bool { bool ?? false }

  public var array: [Any?]? { if case .array(let values)? = stored { values.map(\.any) } else { nil } }
  public var arrayValue: [Any?] { array ?? [] }

  public var dictionary: [String: Any?]? {
    if case .map(let fields)? = stored { fields.byString } else { nil }
  }
  public var dictionaryValue: [String: Any?] { dictionary ?? [:] }

  public var data: Data? { if case .bytes(let bytes)? = stored { Data(bytes) } else { nil } }
  public var dataValue: Data { data ?? Data() }

  /// The time that a string of ISO 8601 names, which is how dates are stored.
  public var date: Date? { string.flatMap(Timestamp.date) }

  /// The decimal number that a string or a number here is, exactly; a floating-point number by its shortest text.
  public var decimal: Decimal? { stored.flatMap { Decimal(exactly: $0) } }

  /// The counter that stands here; `nil` for a plain number.
  public var counter: DunlinCounter? {
    if case .counter(let value)? = stored { DunlinCounter(read: value) } else { nil }
  }
}
