#if DEBUG || SIMULATION
  /// The failpoints planted in one task, its count for each coverage point, and the first check that fired.
  ///
  /// A plan applies only to the tasks that run under it, so that concurrent tests do not affect each other.
  // SAFETY: `planted` never changes; `counts` and `fired` are written by the one thread that simulates, and
  // read after it.
  @usableFromInline
  package final class FailpointPlan: @unchecked Sendable {
    /// What a check does when its condition does not hold.
    package enum Firing: Sendable {
      /// It ends the process, with a message on standard error.
      case endsProcess
      /// It is recorded in the plan, and the task goes on.
      case isRecorded
    }

    /// The plan of this task.
    @TaskLocal @usableFromInline static var current: FailpointPlan?

    private let planted: [Bool]
    private var counts = [Int](repeating: 0, count: 256)
    private let seed: UInt64?
    private let firing: Firing
    /// The first check that fired, if the plan records it.
    package private(set) var fired: FiredCheck?

    /// Makes a plan that plants some failpoints, and has reached nothing.
    ///
    /// - Parameters:
    ///   - failpoints: The deliberate mistakes.
    ///   - seed: The seed of the simulation, which a check that fires names.
    ///   - firing: What a check does when its condition does not hold.
    package init(
      planting failpoints: [any Failpoint] = [], seed: UInt64? = nil, firing: Firing = .endsProcess
    ) {
      var planted = [Bool](repeating: false, count: 256)
      for failpoint in failpoints { planted[Int(failpoint.rawValue)] = true }
      self.planted = planted
      self.seed = seed
      self.firing = firing
    }

    /// Runs `body` under the plan.
    package func run<Result>(_ body: () throws -> Result) rethrows -> Result {
      try Self.$current.withValue(self, operation: body)
    }

    /// How often a coverage point was reached.
    package func count(of point: some CoveragePoint) -> Int { counts[Int(point.rawValue)] }

    @usableFromInline func plants(_ failpoint: UInt8) -> Bool { planted[Int(failpoint)] }

    @usableFromInline func count(_ point: UInt8) { counts[Int(point)] += 1 }

    /// Ends the process, or records that a check fired, as the plan of this task says.
    @usableFromInline
    static func fire(_ rule: CheckedRule, phase: String, _ text: String) {
      let plan = current
      let check = FiredCheck(rule: rule, phase: phase, seed: plan?.seed, text: text)
      guard let plan, plan.firing == .isRecorded else { fatalError("A check fired: \(check)") }
      if plan.fired == nil { plan.fired = check }
    }
  }
#endif
