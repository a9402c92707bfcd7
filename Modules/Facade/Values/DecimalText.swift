import CRDTCore
import Foundation

/// Decimal numbers as documents hold them: one canonical, exact text each, such as `1.3`.
enum DecimalText {
  /// - Returns: `nil` for a decimal that is no number.
  static func text(_ decimal: Decimal) -> String? {
    decimal.isNaN ? nil : ExactDecimal(decimal.description)?.text
  }
}

extension Decimal {
  /// The number that a text, an integer or a floating-point number is; of the last the shortest text counts.
  ///
  /// - Returns: `nil` for what is no number, and for one that a `Decimal` does not hold exactly.
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
