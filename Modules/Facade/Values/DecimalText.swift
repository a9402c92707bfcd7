import CRDTCore
import Foundation

/// Decimal numbers as documents store them: one canonical, exact text each, such as `1.3`.
enum DecimalText {
  /// - Returns: The text; `nil` for a decimal that is not a number.
  static func text(_ decimal: Decimal) -> String? { exact(decimal)?.text }

  /// - Returns: The same number; `nil` for a decimal that is not a number.
  static func exact(_ decimal: Decimal) -> ExactDecimal? {
    decimal.isNaN ? nil : ExactDecimal(decimal.description)
  }
}

extension Decimal {
  /// The exact number of a text, an integer or a floating-point number.
  ///
  /// For a floating-point number, its shortest text counts.
  /// - Returns: `nil` for anything other than a number, and for a number that a `Decimal` does not hold
  ///   exactly.
  init?(exactly value: Value) {
    let exact: ExactDecimal?
    switch value {
    case .string(let text): exact = ExactDecimal(text)
    case .int(let number), .counter(let number): exact = ExactDecimal(number)
    case .decimal(let number): exact = number
    case .double(let number): exact = ExactDecimal(shortestOf: number)
    case .null, .bool, .bytes, .array, .map, .attachment: exact = nil
    }
    guard let exact, let decimal = Decimal(string: exact.text, locale: Locale(identifier: "en_US_POSIX")),
      DecimalText.text(decimal) == exact.text
    else { return nil }
    self = decimal
  }
}
