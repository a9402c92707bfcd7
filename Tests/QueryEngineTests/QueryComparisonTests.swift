import DocStore
import Failpoints
import QueryComparison
import QueryEngine
import TestKit
import Testing

/// Random statements answer by indexes and records in place what the evaluator of expressions answers alone.
///
/// `Tools/compare/run` makes many more comparisons.
@Suite struct QueryComparisonTests {
  @Test(arguments: 0..<4) func `statements answer what a plain evaluation does`(seed: UInt64) throws {
    #expect(try QueryComparison.run(seed: seed) > 100)
  }

  /// Where the rarest are looked for first, so that it takes less time.
  private static let starts: [String: UInt64] = [
    QueryDefect.distinctSkipsTooFar.name: 39, QueryDefect.observerIndexForgetsBefore.name: 15,
    StoreDefect.longKeysVisitedTwice.name: 12, QueryDefect.endsTurned.name: 11,
  ]

  @Test(arguments: QueryComparison.defects)
  func `a planted defect is found`(defect: any Failpoint) throws {
    // Long lists are what most of these need not.
    let oneLongListIn = defect.name == QueryDefect.joinedRangesCountAsSettled.name ? 40 : 1_000_000
    let start = Self.starts[defect.name] ?? 0
    for seed in start..<start + 60 {
      do {
        _ = try QueryComparison.run(seed: seed, oneLongListIn: oneLongListIn, planting: Planting(defect))
      } catch is Difference {
        return
      }
    }
    Issue.record("\(defect.name) is not found")
  }
}
