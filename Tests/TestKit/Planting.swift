package import Failpoints

/// Defects that a campaign runs with: none, but to show that it finds them.
package struct Planting: Sendable {
  #if DEBUG || SIMULATION
    private let plan: FailpointPlan?

    /// Plants a defect.
    package init(_ defect: any Failpoint) { plan = FailpointPlan(planting: [defect]) }

    private init() { plan = nil }
  #else
    /// Where none can be planted, a control fails.
    package init(_ defect: any Failpoint) {}

    private init() {}
  #endif

  package static let nothing = Planting()

  package var isNothing: Bool {
    #if DEBUG || SIMULATION
      plan == nil
    #else
      true
    #endif
  }

  /// Runs `body`, on whatever thread it is called, with the defects.
  package func run<Result>(_ body: () throws -> Result) rethrows -> Result {
    #if DEBUG || SIMULATION
      guard let plan else { return try body() }
      return try plan.run(body)
    #else
      return try body()
    #endif
  }
}
