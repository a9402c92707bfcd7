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
    if let diff = try query.apply(commit) { diff.apply(to: &rows) }
    commits += 1
    if commits % 16 == 0 { try check(at: peer) }
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
  fileprivate var shown: [String: Value]? { try? values() }
}
