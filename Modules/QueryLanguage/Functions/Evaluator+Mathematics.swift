import CRDTCore
import Platform

/// Mathematics beyond arithmetic. Without a finite result, it is MISSING.
extension Evaluator {
  static func mathematics(_ function: Function, _ operands: [Value]) -> Value? {
    switch function {
    case .pi: return .double(.pi)
    case .round, .trunc: return rounded(function, operands)
    case .sign:
      if let whole = operands[0].wholeNumber { return .int(whole.signum()) }
      guard let number = operands[0].number, !number.isNaN else { return nil }
      return .int(number > 0 ? 1 : number < 0 ? -1 : 0)
    default: break
    }
    guard let number = operands[0].number else { return nil }
    let result: Double
    switch function {
    case .power:
      guard let exponent = operands[1].number else { return nil }
      if let power = wholePower(operands[0], operands[1]) { return .int(power) }
      result = pow(number, exponent)
    case .sqrt: result = number.squareRoot()
    case .exp: result = exp(number)
    case .ln: result = log(number)
    case .log10: result = log10(number)
    default: return nil
    }
    return result.isFinite ? .double(result) : nil
  }

  /// A whole number to a whole power, where the result fits.
  private static func wholePower(_ base: Value, _ exponent: Value) -> Int64? {
    guard let base = base.wholeNumber, var exponent = exponent.wholeNumber, exponent >= 0 else { return nil }
    var result: Int64 = 1
    var square = base
    while exponent > 0 {
      if exponent & 1 == 1 {
        let (product, overflow) = result.multipliedReportingOverflow(by: square)
        if overflow { return nil }
        result = product
      }
      exponent >>= 1
      if exponent > 0 {
        let (product, overflow) = square.multipliedReportingOverflow(by: square)
        if overflow { return nil }
        square = product
      }
    }
    return result
  }

  /// `round(x[, digits])`: halves are rounded away from zero; digits may be negative.
  private static func rounded(_ function: Function, _ operands: [Value]) -> Value? {
    let digits = operands.count > 1 ? operands[1].wholeNumber : 0
    guard let digits, (-400...400).contains(digits) else { return nil }
    let rule: FloatingPointRoundingRule = function == .round ? .toNearestOrAwayFromZero : .towardZero
    if let whole = operands[0].wholeNumber {
      guard digits < 0 else { return .int(whole) }
      guard digits >= -18 else { return .int(0) }
      let unit = (0..<Int(-digits)).reduce(Int64(1)) { power, _ in power * 10 }
      let rest = whole % unit
      let lower = whole - rest
      guard function == .round, rest.magnitude >= unit.magnitude / 2 else { return .int(lower) }
      let (sum, overflow) = lower.addingReportingOverflow(rest < 0 ? -unit : unit)
      return overflow ? nil : .int(sum)
    }
    guard let number = operands[0].number, number.isFinite else { return nil }
    if digits == 0 { return .double(number.rounded(rule)) }
    let scale = pow(10, Double(Swift.abs(digits)))
    let scaled = digits > 0 ? number * scale : number / scale
    // If there are more digits than the number has, there is nothing to round.
    guard scaled.isFinite, scale.isFinite else { return digits > 0 ? .double(number) : .double(0) }
    let result = digits > 0 ? scaled.rounded(rule) / scale : scaled.rounded(rule) * scale
    return result.isFinite ? .double(result) : nil
  }
}
