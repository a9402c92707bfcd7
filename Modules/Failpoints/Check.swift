/// What a check verifies.
@usableFromInline
package enum CheckedRule: Hashable, Sendable, CustomStringConvertible {
  /// A phase may follow the one before it.
  case transition
  /// The rule of this number in `Documentation/Sync.md`, section "What is always true".
  case sync(Int)

  @usableFromInline package var description: String {
    switch self {
    case .transition: "transition"
    case .sync(let number): "rule \(number)"
    }
  }
}

/// Checks what is always true, in debug builds, in tests and in the simulator.
///
/// A condition that does not hold ends the process. The message on standard error has the rule, the phase and
/// the seed of the simulation. If the plan of this task records fired checks (``FailpointPlan``), the process
/// goes on. In a release build without the package trait `Simulation` the compiler removes the check with all
/// its arguments.
///
/// - Parameters:
///   - rule: What the check verifies.
///   - condition: What must be true.
///   - phase: The phase in which it was found false.
///   - text: What is wrong, in a few words without a document's contents.
@inlinable @inline(__always)
package func check(
  _ rule: CheckedRule, _ condition: @autoclosure () -> Bool,
  phase: @autoclosure () -> String, _ text: @autoclosure () -> String
) {
  #if DEBUG || SIMULATION
    if !condition() { FailpointPlan.fire(rule, phase: phase(), text()) }
  #endif
}

#if DEBUG || SIMULATION
  /// A check whose condition did not hold.
  package struct FiredCheck: Hashable, Sendable, CustomStringConvertible {
    /// What the check verifies.
    package let rule: CheckedRule
    /// The phase in which it was found false.
    package let phase: String
    /// The seed of the simulation; `nil` outside of one.
    package let seed: UInt64?
    /// What is wrong.
    package let text: String

    package var description: String {
      "\(rule) in phase \(phase), \(seed.map { "seed \($0)" } ?? "no seed"): \(text)"
    }
  }
#endif
