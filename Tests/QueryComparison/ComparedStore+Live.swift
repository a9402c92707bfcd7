import CRDTCore
import DocStore
import QueryEngine

/// A live query that is fed only with the commits that concern it.
struct LiveComparison {
  let select: Select
  var query: LiveQuery
}

extension ComparedStore {
  func startLive() throws {
    for number in 0..<6 {
      let select = draws.select(from: Self.collection, indexes)
      var query = try LiveQuery(Statement.select(select))
      try query.start(engine)
      for dependency in query.dependencies {
        observers.insert(UInt64(number), collection: dependency.collection, predicate: dependency.filter)
      }
      live.append(LiveComparison(select: select, query: query))
    }
  }

  /// Compares the rows of live queries after the commits since the last time.
  func compareLive() throws {
    for commit in takeCommits() {
      for number in observers.affected(by: commit) { _ = try live[Int(number)].query.apply(commit) }
    }
    for comparison in live {
      let rows = try Array(comparison.query.rows).map { try $0.values() }
      try expect(
        ExpectedRows(comparison.select, reference).fault(of: rows),
        "the observed \(Statement.select(comparison.select))")
    }
  }
}
