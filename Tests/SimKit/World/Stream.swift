import CRDTCore
import Foundation

/// Random numbers by purpose: each purpose has its own sequence, so one draw more changes nothing elsewhere.
///
/// The numbers are a function of key and count alone.
package struct Stream: RandomNumberGenerator, Sendable {
  /// What numbers are drawn for.
  package enum Purpose: UInt64, Sendable {
    case shape, events, ties, driver, line, store, clock, session, dialing, copies, garbling,
      memory, packing, leaving, size, telling, narrow
  }

  private var numbers: SplitMix64

  /// The sequence of a purpose, of what `numbers` name.
  package init(_ seed: UInt64, _ purpose: Purpose, _ numbers: Int...) {
    var key = SplitMix64.mixed(seed &+ purpose.rawValue &* 0xD6E8_FEB8_6659_FD93)
    for number in numbers {
      key = SplitMix64.mixed(key ^ (UInt64(bitPattern: Int64(number)) &+ 0x9E37_79B9_7F4A_7C15))
    }
    self.numbers = SplitMix64(seed: key)
  }

  package mutating func next() -> UInt64 { numbers.next() }

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
