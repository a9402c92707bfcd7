extension SplitMix64 {
  /// A whole number below `bound`, which must be positive.
  package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// One of `choices`, which must not be empty.
  package mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }
}
