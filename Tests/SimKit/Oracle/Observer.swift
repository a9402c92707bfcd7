import CRDTCore
import DocStore
import QueryEngine

/// An observed query: what it shows, kept up by differences alone, is what a fresh query shows.
struct Observer {
  private let text: String
  private var query: LiveQuery
  private var rows: [Row]
  private var commits = 0

  private static let texts = [
    "SELECT * FROM c0", "SELECT * FROM c0 WHERE n > 2 ORDER BY n LIMIT 5",
    "SELECT color, COUNT(*) AS many FROM c1 GROUP BY color", "SELECT _id, count FROM c1 ORDER BY _id DESC",
  ]

  init(_ number: Int, _ store: Store) throws {
    text = Self.texts[number % Self.texts.count]
    query = try LiveQuery(dql: text)
    rows = Array(try query.start(store))
  }

  mutating func follow(_ commit: Commit, at peer: SimPeer) throws {
    if let diff = try query.apply(commit) {
      let before = rows
      diff.apply(to: &rows)
      if let fault = Self.fault(of: diff, before, rows) {
        throw Violation(.observers, "\(peer.name) is told of \(fault): \(text)")
      }
    }
    guard Self.isSame(rows, Array(query.rows)) else {
      throw Violation(.observers, "\(peer.name) is told of other differences than there are: \(text)")
    }
    commits += 1
    if commits % 16 == 0 { try check(at: peer) }
  }

  /// What a difference tells that is none: exact is one that names each place once, and nothing that stayed.
  private static func fault(of diff: ResultDiff, _ before: [Row], _ after: [Row]) -> String? {
    let gone = diff.deletions + diff.moves.map(\.from)
    let come = diff.insertions + diff.moves.map(\.to)
    guard Set(gone).count == gone.count, Set(come).count == come.count else { return "one place twice" }
    guard Set(diff.updates).count == diff.updates.count, Set(diff.updates).isDisjoint(with: diff.insertions)
    else { return "one row twice" }
    let isChanged = zip(diff.replacedRows, diff.updatedRows).allSatisfy { $0.shown != $1.shown }
    guard isChanged else { return "a change where there is none" }
    guard before.count - gone.count + come.count == after.count else { return "another number of rows" }
    if diff.isEmpty || isSame(before, after) { return "a difference where there is none" }
    return nil
  }

  private static func isSame(_ rows: [Row], _ others: [Row]) -> Bool {
    rows.count == others.count && zip(rows, others).allSatisfy { $0.shown == $1.shown }
  }

  func check(at peer: SimPeer) throws {
    guard let store = peer.store else { return }
    // A store that is ahead of what was told shows more.
    guard try store.read({ $0.sequence }) <= query.sequence || commits == 0 else { return }
    var fresh = try LiveQuery(dql: text)
    let expected = Array(try fresh.start(store))
    guard rows.map(\.shown) == expected.map(\.shown) else {
      throw Violation(
        .observers,
        "\(peer.name) observes \(rows.count) rows by differences, \(expected.count) afresh: \(text)")
    }
  }
}

extension Row {
  fileprivate var shown: [TextKey: Value]? { try? values() }
}
