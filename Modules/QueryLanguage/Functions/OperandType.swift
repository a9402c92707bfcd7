import CRDTCore

/// The operand type of an operator or a function; an operand of another type makes the result MISSING.
enum OperandType {
  case any, boolean, number, integer, string, array, object
  /// A number, or the text of one.
  case decimal
  /// A string, or bytes.
  case bytes
  /// An array or an object.
  case collection
  /// A string, or an array of strings.
  case strings
  /// A date with a time zone, or milliseconds since 1970.
  case date
  /// The name of a part of dates.
  case part
  /// A duration, or milliseconds.
  case duration

  func accepts(_ value: Value) -> Bool {
    let kind = SortOrder.Class(value)
    return switch self {
    case .any: true
    case .boolean: kind == .boolean
    case .number: kind == .number
    case .decimal: kind == .number || kind == .decimal || Self.text(value) { ExactDecimal($0) }
    case .integer: value.wholeNumber != nil
    case .string: kind == .string
    case .array: kind == .array
    case .object: kind == .object
    case .bytes: kind == .string || kind == .binary
    case .collection: kind == .array || kind == .object
    case .strings: kind == .string || Self.areStrings(value)
    case .date: value.wholeNumber != nil || Self.text(value, DateText.parse)
    case .part: Self.text(value, DatePart.init(name:))
    case .duration: value.wholeNumber != nil || Self.text(value, DurationText.parse)
    }
  }

  private static func text<Result>(_ value: Value, _ parse: (String) -> Result?) -> Bool {
    if case .string(let text) = value { parse(text) != nil } else { false }
  }

  private static func areStrings(_ value: Value) -> Bool {
    guard case .array(let elements) = value else { return false }
    return elements.allSatisfy { SortOrder.Class($0) == .string }
  }

  /// The text by which an error describes the expected type.
  var shown: String {
    switch self {
    case .any: "a value"
    case .boolean: "a boolean"
    case .number: "a number"
    case .decimal: "a number, or the text of one"
    case .integer: "an integer"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    case .bytes: "a string or bytes"
    case .collection: "an array or an object"
    case .strings: "a string or an array of strings"
    case .date: "a date with a time zone"
    case .part: "a part of a date"
    case .duration: "a duration"
    }
  }
}
