import CRDTCore
import Platform

extension FunctionDefinition {
  /// The functions of numbers.
  ///
  /// Without a finite result, the result is MISSING.
  static let numbers: [FunctionDefinition] = [
    .init(
      .abs, [.number], traits: .takesDecimals, on: .values { _, operands in Evaluator.absolute(operands[0]) }),
    .init(.ceil, [.number], on: .values { _, operands in Evaluator.whole(operands[0], .up) }),
    .init(.floor, [.number], on: .values { _, operands in Evaluator.whole(operands[0], .down) }),
    .init(
      .round, [.number, .integer], arity: 1...2,
      on: .values { _, operands in Evaluator.rounded(operands, .toNearestOrAwayFromZero) }),
    .init(
      .trunc, [.number, .integer], arity: 1...2,
      on: .values { _, operands in Evaluator.rounded(operands, .towardZero) }),
    .init(
      .sign, [.number], traits: .takesDecimals, on: .values { _, operands in Evaluator.sign(operands[0]) }),
    .init(
      .power, [.number, .number], traits: .dependsOnMachine,
      on: .values { _, operands in Evaluator.power(operands) }),
    .init(.sqrt, [.number], on: .values { _, operands in Evaluator.finite(operands) { $0.squareRoot() } }),
    .init(
      .exp, [.number], traits: .dependsOnMachine,
      on: .values { _, operands in Evaluator.finite(operands) { exp($0) } }),
    .init(
      .ln, [.number], traits: .dependsOnMachine,
      on: .values { _, operands in Evaluator.finite(operands) { log($0) } }),
    .init(
      .log10, [.number], traits: .dependsOnMachine,
      on: .values { _, operands in Evaluator.finite(operands) { log10($0) } }),
    .init(.pi, [], on: .values { _, _ in .double(.pi) }),
    .init(
      .decimal, [.decimal], traits: [.takesDecimals, .makesDecimals],
      on: .values { _, operands in Evaluator.decimal(operands[0]) }),
  ]
}

/// Mathematics beyond arithmetic.
extension Evaluator {
  fileprivate static func absolute(_ operand: Value) -> Value? {
    switch operand {
    case .int(let value), .counter(let value): value == .min ? nil : .int(Swift.abs(value))
    case .double(let value): .double(Swift.abs(value))
    case .decimal(let number): .decimal(number < .zero ? -number : number)
    default: nil
    }
  }

  /// `ceil(x)` and `floor(x)`.
  fileprivate static func whole(_ operand: Value, _ rule: FloatingPointRoundingRule) -> Value? {
    if case .double(let value) = operand { return .double(value.rounded(rule)) }
    return operand.wholeNumber.map(Value.int)
  }

  fileprivate static func sign(_ operand: Value) -> Value? {
    if case .decimal(let number) = operand { return .int(number < .zero ? -1 : number == .zero ? 0 : 1) }
    if let whole = operand.wholeNumber { return .int(whole.signum()) }
    guard let number = operand.number, !number.isNaN else { return nil }
    return .int(number > 0 ? 1 : number < 0 ? -1 : 0)
  }

  /// `decimal(x)`: the exact decimal number of a number, or of the text of one.
  fileprivate static func decimal(_ operand: Value) -> Value? {
    if case .string(let text) = operand { return ExactDecimal(text).map(Value.decimal) }
    return operand.exactDecimal.map(Value.decimal)
  }

  fileprivate static func finite(_ operands: [Value], _ body: (Double) -> Double) -> Value? {
    guard let number = operands[0].number else { return nil }
    let result = body(number)
    return result.isFinite ? .double(result) : nil
  }

  fileprivate static func power(_ operands: [Value]) -> Value? {
    guard let number = operands[0].number, let exponent = operands[1].number else { return nil }
    if let power = wholePower(operands[0], operands[1]) { return .int(power) }
    let result = pow(number, exponent)
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
  fileprivate static func rounded(_ operands: [Value], _ rule: FloatingPointRoundingRule) -> Value? {
    let digits = operands.count > 1 ? operands[1].wholeNumber : 0
    guard let digits, (-400...400).contains(digits) else { return nil }
    if let whole = operands[0].wholeNumber {
      guard digits < 0 else { return .int(whole) }
      guard digits >= -18 else { return .int(0) }
      let unit = (0..<Int(-digits)).reduce(Int64(1)) { power, _ in power * 10 }
      let rest = whole % unit
      let lower = whole - rest
      guard rule != .towardZero, rest.magnitude >= unit.magnitude / 2 else { return .int(lower) }
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
