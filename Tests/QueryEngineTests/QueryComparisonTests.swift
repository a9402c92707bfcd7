import CRDTCore
import QueryComparison
import Testing

/// Random statements answer by indexes and records in place what the evaluator of expressions answers alone.
///
/// `Tools/compare/run` makes many more comparisons.
@Suite struct QueryComparisonTests {
  @Test(arguments: 0..<4) func `statements answer what a plain evaluation does`(seed: UInt64) throws {
    #expect(try QueryComparison.run(seed: seed) > 100)
  }

  /// Where the rarest are looked for first, so that it takes less time.
  private static let starts: [Probe.QueryDefect: UInt64] = [
    .distinctSkipsTooFar: 39, .observerIndexForgetsBefore: 15, .longKeysVisitedTwice: 12, .endsTurned: 11,
  ]

  @Test(arguments: Probe.QueryDefect.allCases)
  func `a planted defect is found`(defect: Probe.QueryDefect) throws {
    // Long lists are what most of these need not.
    let oneLongListIn = defect == .joinedRangesCountAsSettled ? 40 : 1_000_000
    let start = Self.starts[defect] ?? 0
    for seed in start..<start + 60 {
      do {
        _ = try QueryComparison.run(seed: seed, oneLongListIn: oneLongListIn, planting: Planting([defect]))
      } catch is Difference {
        return
      }
    }
    Issue.record("\(defect.rawValue) is not found")
  }
}
