/// The powers of ten that a double holds exactly.
private let exactPowersOfTen: [Double] = [
  1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
  1e19,
  1e20, 1e21, 1e22,
]

extension JSONParser {
  /// Reads a number: `.int` if it is written as an integer and fits, otherwise the nearest `.double`.
  mutating func parseNumber() throws(JSONError) -> Value {
    let start = offset
    let isNegative = current == UInt8(ascii: "-")
    if isNegative { offset += 1 }

    var digits = Digits()
    if current == UInt8(ascii: "0") {
      offset += 1
      guard !isDigit(current) else { throw unexpected("no digit after a leading zero") }
    } else {
      try skipDigits(into: &digits)
    }
    var isInteger = true
    var exponent = 0
    if current == UInt8(ascii: ".") {
      isInteger = false
      offset += 1
      let fraction = offset
      try skipDigits(into: &digits)
      exponent = fraction - offset
    }
    if current | 0x20 == UInt8(ascii: "e") {
      isInteger = false
      exponent += try parseExponent()
    }

    if isInteger, digits.areExact {
      let magnitude = digits.value
      if !isNegative, let value = Int64(exactly: magnitude) { return .int(value) }
      if isNegative, magnitude <= Int64.min.magnitude {
        return .int(0 &- Int64(truncatingIfNeeded: magnitude))
      }
    }
    // Both operands are exact, so the one operation rounds correctly (Clinger, "How to Read Floating Point
    // Numbers Accurately", PLDI 1990).
    if digits.areExact, digits.value <= 1 << 53, abs(exponent) <= 22 {
      let magnitude = Double(digits.value)
      let value =
        exponent < 0 ? magnitude / exactPowersOfTen[-exponent] : magnitude * exactPowersOfTen[exponent]
      return .double(isNegative ? -value : value)
    }
    return .double(try parseDouble(from: start))
  }

  /// The digits of a number, without its point.
  private struct Digits {
    var value: UInt64 = 0
    /// Whether `value` holds all digits.
    var areExact = true

    @inline(__always)
    mutating func append(_ digit: UInt8) {
      let (shifted, overflowed) = value.multipliedReportingOverflow(by: 10)
      let (sum, carried) = shifted.addingReportingOverflow(UInt64(digit))
      value = sum
      if overflowed || carried { areExact = false }
    }
  }

  @inline(__always)
  private mutating func skipDigits(into digits: inout Digits) throws(JSONError) {
    guard isDigit(current) else { throw unexpected("a digit") }
    repeat {
      digits.append(current &- UInt8(ascii: "0"))
      offset += 1
    } while isDigit(current)
  }

  /// Reads the exponent from its `e` on, clamped to bounds that no double reaches.
  private mutating func parseExponent() throws(JSONError) -> Int {
    offset += 1
    let isNegative = current == UInt8(ascii: "-")
    if isNegative || current == UInt8(ascii: "+") { offset += 1 }
    guard isDigit(current) else { throw unexpected("a digit in the exponent") }
    var exponent = 0
    repeat {
      exponent = min(exponent * 10 + Int(current &- UInt8(ascii: "0")), 1 << 30)
      offset += 1
    } while isDigit(current)
    return isNegative ? -exponent : exponent
  }

  /// Returns the double nearest to the number between `start` and `offset`, whose grammar was checked.
  private func parseDouble(from start: Int) throws(JSONError) -> Double {
    let range = bytes.extracting(start..<offset)
    // SAFETY: the bytes are read during the call only.
    let text = unsafe range.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    guard let value = Double(text), value.isFinite else {
      throw JSONError(.numberRange, "expected a number that fits a 64-bit float", at: start)
    }
    return value
  }

  @inline(__always)
  private func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
}
