import CRDTCore
public import Foundation

/// The value at one place of a document, readable as any type.
///
/// The short forms are `nil` where there is no value of that type; the forms that end in `Value` are then
/// empty.
public struct DunlinDocumentPath: Sendable {
  /// The document that a place belongs to, for errors.
  struct Owner: Sendable {
    let id: DocumentID?
    let origin: RowOrigin
  }

  let stored: Value?
  private let owner: Owner?

  init(_ stored: Value?, of owner: Owner? = nil) { (self.stored, self.owner) = (stored, owner) }

  /// The value at a key of this map; missing for other types.
  public subscript(key: String) -> DunlinDocumentPath {
    guard case .map(let fields)? = stored else { return DunlinDocumentPath(nil, of: owner) }
    return DunlinDocumentPath(fields[key], of: owner)
  }

  /// The value at an index of this array; missing beyond its end and for other types.
  public subscript(index: Int) -> DunlinDocumentPath {
    guard case .array(let values)? = stored, values.indices.contains(index) else {
      return DunlinDocumentPath(nil, of: owner)
    }
    return DunlinDocumentPath(values[index], of: owner)
  }

  /// The value as one of Swift's own types; `nil` for null and where there is no value.
  public var value: Any? { stored?.any }

  /// Whether there is a value; null is a value.
  public var exists: Bool { stored != nil }

  /// Decodes the value as a type of the application.
  ///
  /// - Returns: `nil` where there is no value.
  /// - Throws: `decoding` with the collection, the document, the type, and the path, relative to this place,
  ///   of the value that does not fit.
  public func decoded<T: Decodable>(as type: T.Type = T.self) throws(DunlinError) -> T? {
    guard let stored else { return nil }
    do {
      return try ValueDecoding.decode(type, from: stored)
    } catch {
      throw owner.map { error.located(document: $0.id, $0.origin) } ?? error
    }
  }

  public var string: String? { if case .string(let value)? = stored { value } else { nil } }
  public var stringValue: String { string ?? "" }

  /// An integer, a counter's sum, or a floating-point number without a fraction.
  public var int: Int? {
    switch stored {
    case .int(let value)?, .counter(let value)?: Int(value)
    case .double(let value)?: Int(exactly: value)
    default: nil
    }
  }

  /// Like `int`, but a floating-point number loses its fraction.
  public var intValue: Int {
    if case .double(let value)? = stored { return Int(exactly: value.rounded(.towardZero)) ?? 0 }
    return int ?? 0
  }

  /// Any number as a floating-point number.
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

  /// The date of an ISO 8601 string, which is how dates are stored.
  public var date: Date? { string.flatMap(Timestamp.date) }

  /// The exact decimal number of a string or a number.
  ///
  /// A floating-point number is converted through its shortest text.
  public var decimal: Decimal? { stored.flatMap { Decimal(exactly: $0) } }

  /// The counter at this place; `nil` for a plain number.
  public var counter: DunlinCounter? {
    if case .counter(let value)? = stored { DunlinCounter(read: value) } else { nil }
  }
}
