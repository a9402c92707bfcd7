package import CRDTCore

/// A sum of numbers that does not depend on their order, and from which numbers can be removed.
///
/// Integers are added in 128 bits. Doubles are added in a fixed-point number that is as wide as the range of
/// all doubles, so nothing is rounded before the end.
///
/// Source: Kulisch and Miranker, "The Arithmetic of the Digital Computer: A New Approach", SIAM Review 1986.
package struct ExactSum: Sendable {
  /// The number of limbs: 66 for all values, and further ones for carries.
  ///
  /// The smallest step is 2 ** -1074; values reach the integers' 128 bits and 2 ** 1024.
  private static let limbCount = 68
  private static let bias = 1_074
  /// The number of additions before carries must be propagated: each adds less than 2 ** 32 to a limb.
  private static let additionsBetweenCarries = 1 << 29

  /// The number of numbers in the sum.
  package private(set) var count = 0
  private var doubleCount = 0
  /// The number of doubles that are not finite: with one of them there is no sum.
  private var nonFiniteCount = 0
  private var whole: Int128 = 0
  private var decimalCount = 0
  private var decimals = ExactDecimal.zero
  /// 32 bits each, the least first, with carries not propagated yet; empty before the first double.
  private var limbs: [Int64] = []
  private var additions = 0

  package init() {}

  /// Adds a number; other values are ignored.
  package mutating func add(_ value: Value) { change(value, by: 1) }

  /// Removes a number that was added.
  package mutating func remove(_ value: Value) { change(value, by: -1) }

  private mutating func change(_ value: Value, by sign: Int) {
    switch value {
    case .int(let number), .counter(let number):
      whole += Int128(number) * Int128(sign)
    case .double(let number):
      doubleCount += sign
      if number.isFinite { change(number, by: sign) } else { nonFiniteCount += sign }
    case .decimal(let number):
      decimalCount += sign
      decimals = sign > 0 ? decimals + number : decimals - number
    case .null, .bool, .string, .bytes, .array, .map, .attachment: return
    }
    count += sign
  }

  private mutating func change(_ number: Double, by sign: Int) {
    guard number != 0 else { return }
    if limbs.isEmpty { limbs = [Int64](repeating: 0, count: Self.limbCount) }
    let isSubnormal = number.exponentBitPattern == 0
    let significand = number.significandBitPattern | (isSubnormal ? 0 : 1 << 52)
    let place = Int(max(number.exponentBitPattern, 1)) - 1
    let sign = number.sign == .minus ? -Int64(sign) : Int64(sign)
    Self.add(UInt128(significand) << UInt128(place % 32), times: sign, to: &limbs, at: place / 32)
    additions += 1
    if additions == Self.additionsBetweenCarries {
      Self.carry(&limbs)
      additions = 0
    }
  }

  private static func add(_ magnitude: UInt128, times sign: Int64, to limbs: inout [Int64], at first: Int) {
    var rest = magnitude
    var limb = first
    while rest != 0 {
      limbs[limb] += sign * Int64(UInt32(truncatingIfNeeded: rest))
      rest >>= 32
      limb += 1
    }
  }

  /// Propagates the carries: each limb but the last, which has the sign, keeps 32 bits.
  private static func carry(_ limbs: inout [Int64]) {
    var carried: Int64 = 0
    for index in limbs.indices.dropLast() {
      let total = limbs[index] + carried
      limbs[index] = total & 0xFFFF_FFFF
      carried = total >> 32
    }
    limbs[limbs.count - 1] += carried
  }

  /// The sum; `nil` without numbers, and where it does not fit.
  ///
  /// - Returns: An integer when all numbers are integers, a decimal when one is a decimal, otherwise the
  ///   double next to the exact sum.
  package var value: Value? {
    guard count > 0 else { return nil }
    if decimalCount > 0 { return decimalSum.flatMap { $0.isWithinLimit ? .decimal($0) : nil } }
    if doubleCount == 0 { return Int64(exactly: whole).map(Value.int) }
    return double.flatMap { $0.isFinite ? .double($0) : nil }
  }

  /// The mean of the numbers as a double; `nil` without numbers.
  package var mean: Value? {
    guard count > 0, let total = decimalCount > 0 ? decimalSum?.double : double else { return nil }
    let mean = total / Double(count)
    return mean.isFinite ? .double(mean) : nil
  }

  /// The exact sum where decimals are among the numbers.
  ///
  /// The sum of the doubles is converted from its shortest text.
  private var decimalSum: ExactDecimal? {
    var sum = decimals + ExactDecimal(whole)
    if doubleCount > 0 {
      var others = self
      others.whole = 0
      guard let double = others.double, let number = ExactDecimal(shortestOf: double) else { return nil }
      sum = sum + number
    }
    return sum
  }

  /// The double next to the exact sum, ties to even.
  ///
  /// It is infinite when the sum is larger than every double, and `nil` after infinities.
  private var double: Double? {
    guard nonFiniteCount == 0 else { return nil }
    if limbs.isEmpty { return Double(whole) }
    var limbs = limbs
    // The integers' point is 1,074 bits up, in the middle of a limb.
    Self.add(
      whole.magnitude << UInt128(Self.bias % 32), times: whole < 0 ? -1 : 1, to: &limbs, at: Self.bias / 32)
    Self.carry(&limbs)
    let isNegative = (limbs.last ?? 0) < 0
    if isNegative {
      for index in limbs.indices { limbs[index] = -limbs[index] }
      Self.carry(&limbs)
    }
    guard let top = limbs.lastIndex(where: { $0 != 0 }) else { return 0 }
    // Four limbs contain the significand and more; the limbs below them only break ties.
    var magnitude: UInt128 = 0
    for offset in 0..<4 { magnitude = magnitude << 32 | UInt128(top >= offset ? limbs[top - offset] : 0) }
    if top > 3, limbs[..<(top - 3)].contains(where: { $0 != 0 }) { magnitude |= 1 }
    let scaled = Self.rounded(magnitude, exponent: (top - 3) * 32 - Self.bias)
    return isNegative ? -scaled : scaled
  }

  /// `magnitude` · 2 ** `exponent`, rounded once.
  private static func rounded(_ magnitude: UInt128, exponent: Int) -> Double {
    let width = 128 - magnitude.leadingZeroBitCount
    // Below the least normal number the significand has fewer bits.
    let kept = min(53, width + exponent + bias)
    let dropped = width - kept
    guard kept >= 0 else { return 0 }
    guard dropped > 0 else { return Double(sign: .plus, exponent: exponent, significand: Double(magnitude)) }
    var significand = dropped >= 128 ? 0 : magnitude >> UInt128(dropped)
    let rest = magnitude - (dropped >= 128 ? 0 : significand << UInt128(dropped))
    let half = UInt128(1) << UInt128(dropped - 1)
    if rest > half || rest == half && significand & 1 == 1 { significand += 1 }
    return Double(sign: .plus, exponent: exponent + dropped, significand: Double(significand))
  }
}
