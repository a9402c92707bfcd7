/// A key of a failpoint or of a coverage point.
///
/// Each layer declares its own keys. The raw value is the number by which a plan identifies the key. No two
/// layers give the same number or name to two failpoints, or to two coverage points: each layer numbers its
/// keys from a start of its own.
@usableFromInline
package protocol FailpointKey: RawRepresentable<UInt8>, CaseIterable, Hashable, Sendable {}

extension FailpointKey {
  /// The name of the case, by which tools and reports know it.
  package var name: String { "\(self)" }
}

/// A deliberate mistake in the code, which tests plant and must find.
///
/// Nothing plants one outside of tests. In a release build without the package trait `Simulation` none can be
/// planted, and the compiler removes the check for it.
@usableFromInline
package protocol Failpoint: FailpointKey {}

extension Failpoint {
  /// Whether the plan of this task has the mistake.
  @inlinable
  package var isPlanted: Bool {
    #if DEBUG || SIMULATION
      FailpointPlan.current?.plants(rawValue) ?? false
    #else
      false
    #endif
  }
}

/// A place in the code that a campaign of tests must reach at least once.
///
/// A campaign that does not reach it has proved less than it seems.
///
/// Places are counted where failpoints can be planted; elsewhere the compiler removes the count.
@usableFromInline
package protocol CoveragePoint: FailpointKey {}

extension CoveragePoint {
  /// Counts in the plan of this task that the place was reached.
  @inlinable
  package func reached() {
    #if DEBUG || SIMULATION
      FailpointPlan.current?.count(rawValue)
    #endif
  }
}
