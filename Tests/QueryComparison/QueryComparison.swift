import DocStore
package import Failpoints
import QueryEngine
package import TestKit

/// Compares the query engine with an evaluation that uses no indexes and reads no records in place.
package enum QueryComparison {
  /// The defects that it must find; the simulator looks for the others.
  package static let defects: [any Failpoint] =
    LanguageDefect.allCases + QueryDefect.allCases.filter { $0 != .observerMissesMerges }
    + [StoreDefect.longKeysVisitedTwice]

  /// Makes a store, and compares queries, writes, observers and subscriptions on it.
  ///
  /// - Parameters:
  ///   - seed: Decides everything.
  ///   - oneLongListIn: Of so many lists of constants one is as long as a scan may have spans.
  ///   - planting: Defects that are to be found.
  /// - Returns: How many comparisons there were.
  /// - Throws: `Difference` for the first that failed; what the engine throws, which is a failure, too.
  package static func run(
    seed: UInt64, oneLongListIn: Int = 300, planting: Planting = .nothing
  ) throws -> Int {
    try planting.run {
      let compared = try ComparedStore(
        QueryDraws(seed: seed, oneLongListIn: oneLongListIn), planting: planting)
      for round in 0..<rounds {
        for _ in 0..<16 { try compared.compareQuery() }
        for _ in 0..<4 { try compared.compareSubscription() }
        try compared.compareJoin()
        try compared.compareWrite()
        if round == rounds / 2 { try compared.store.updateStatistics() }
      }
      return compared.cases
    }
  }

  private static let rounds = 6
}
