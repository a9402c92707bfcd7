/// A random source that gives the same numbers for the same seed, on every machine.
///
/// Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014 (SplitMix64).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

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
