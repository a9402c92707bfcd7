import CRDTCore

/// A random source that gives the same numbers for the same seed, on every machine.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var numbers: SplitMix64

  public init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

  public mutating func next() -> UInt64 { numbers.next() }

  /// A whole number below `bound`, which must be positive.
  public mutating func int(below bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  /// `true` once in `count` times on average.
  public mutating func oneIn(_ count: Int) -> Bool { int(below: count) == 0 }

  /// Any byte string shorter than `bound`.
  public mutating func bytes(below bound: Int) -> [UInt8] {
    (0..<int(below: bound)).map { _ in UInt8(truncatingIfNeeded: next()) }
  }

  /// One of `choices`, which must not be empty.
  public mutating func pick<Choice>(_ choices: [Choice]) -> Choice { choices[int(below: choices.count)] }

  /// A generator whose numbers do not depend on how many more are drawn from this one.
  public mutating func split() -> SeededGenerator { SeededGenerator(seed: next()) }
}
