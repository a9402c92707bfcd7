#if DEBUG || SIMULATION
  /// Which failpoints are planted in one task, and how often it reached each coverage point.
  ///
  /// A plan counts for the tasks that run under it alone, so that tests beside each other do not meet.
  // SAFETY: `planted` never changes; `counts` is written by the one thread that simulates, and read after it.
  @usableFromInline
  package final class FailpointPlan: @unchecked Sendable {
    /// The plan of this task.
    @TaskLocal @usableFromInline static var current: FailpointPlan?

    private let planted: [Bool]
    private var counts = [Int](repeating: 0, count: 256)

    /// Makes a plan that plants some failpoints, and has reached nothing.
    package init(planting failpoints: [any Failpoint] = []) {
      var planted = [Bool](repeating: false, count: 256)
      for failpoint in failpoints { planted[Int(failpoint.rawValue)] = true }
      self.planted = planted
    }

    /// Runs `body` under the plan.
    package func run<Result>(_ body: () throws -> Result) rethrows -> Result {
      try Self.$current.withValue(self, operation: body)
    }

    /// How often a coverage point was reached.
    package func count(of point: some CoveragePoint) -> Int { counts[Int(point.rawValue)] }

    @usableFromInline func plants(_ failpoint: UInt8) -> Bool { planted[Int(failpoint)] }

    @usableFromInline func count(_ point: UInt8) { counts[Int(point)] += 1 }
  }
#endif
