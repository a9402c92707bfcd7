extension UInt64 {
  /// Returns the sum, or the maximum on overflow.
  func adding(_ other: UInt64) -> UInt64 {
    let (sum, isTooMuch) = addingReportingOverflow(other)
    return isTooMuch ? .max : sum
  }

  /// Returns the product, or the maximum on overflow.
  func multiplied(by other: UInt64) -> UInt64 {
    let (product, isTooMuch) = multipliedReportingOverflow(by: other)
    return isTooMuch ? .max : product
  }
}
