extension [UInt8] {
  /// Reads two hexadecimal digits for each byte; `nil` for anything else.
  init?(hexDigits digits: some StringProtocol) {
    let values = digits.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    guard values.count == digits.utf8.count, values.count.isMultiple(of: 2) else { return nil }
    self = stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
  }
}
