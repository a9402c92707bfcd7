import Foundation

/// Random numbers by purpose: each purpose has its own sequence, so one draw more changes nothing elsewhere.
///
/// The numbers are a function of key and count alone. Source of the mixing step: Steele, Lea and Flood, "Fast
/// Splittable Pseudorandom Number Generators", OOPSLA 2014.
package struct Stream: RandomNumberGenerator, Sendable {
  /// What numbers are drawn for.
  package enum Purpose: UInt64, Sendable {
    case shape, events, ties, driver, line, store, clock, session, dialing, copies, garbling,
      memory, packing, leaving, size, telling, narrow
  }

  private let key: UInt64
  private var count: UInt64 = 0

  /// The sequence of a purpose, of what `numbers` name.
  package init(_ seed: UInt64, _ purpose: Purpose, _ numbers: Int...) {
    var key = Self.mixed(seed &+ purpose.rawValue &* 0xD6E8_FEB8_6659_FD93)
    for number in numbers {
      key = Self.mixed(key ^ (UInt64(bitPattern: Int64(number)) &+ 0x9E37_79B9_7F4A_7C15))
    }
    self.key = key
  }

  package mutating func next() -> UInt64 {
    count &+= 1
    return Self.mixed(key &+ count &* 0x9E37_79B9_7F4A_7C15)
  }

  private static func mixed(_ word: UInt64) -> UInt64 {
    var word = word
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }

  /// A whole number below `bound`, which must be positive.
  package mutating func int(below bound: Int) -> Int {
    Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(bound)).high)
  }

  package mutating func int(in range: ClosedRange<Int>) -> Int {
    range.lowerBound + int(below: range.upperBound - range.lowerBound + 1)
  }

  /// `true` once in `count` times on average.
  package mutating func oneIn(_ count: Int) -> Bool { int(below: count) == 0 }

  /// One of `choices`, which must not be empty.
  package mutating func pick<Choice>(_ choices: [Choice]) -> Choice { choices[int(below: choices.count)] }

  /// A number between 0 and 1.
  package mutating func unit() -> Double { Double(next() >> 11) / Double(1 << 53) }

  /// A number whose logarithm is drawn evenly.
  package mutating func logarithmic(in range: ClosedRange<Int>) -> Int {
    let low = log(Double(max(range.lowerBound, 1)))
    let high = log(Double(max(range.upperBound, 1)))
    return min(max(Int(exp(low + (high - low) * unit())), range.lowerBound), range.upperBound)
  }

  /// The index of one of `weights`, each as often as it weighs; they must not all be zero.
  package mutating func index(by weights: [Int]) -> Int {
    var rest = int(below: max(weights.reduce(0, +), 1))
    for (index, weight) in weights.enumerated() {
      if rest < weight { return index }
      rest -= weight
    }
    return weights.count - 1
  }
}
