import CRDTCore
import DocStore
import Links
import QueryEngine
import SyncProtocol

/// The documents of one commit, which decide which peers it concerns.
struct WrittenCommit {
  /// The maximum number of documents that are checked for a peer.
  ///
  /// Beyond them, a peer that subscribes to anything of their collections counts as concerned.
  private static let visitedDocuments = 10_000

  let sequence: UInt64
  /// The written documents, by collection and number; `nil` if the log no longer reaches back to the commit.
  private let runs: [LogRun]?

  /// - Throws: What the store throws.
  init(_ sequence: UInt64, _ transaction: borrowing ReadTransaction) throws {
    self.sequence = sequence
    guard sequence > transaction.logStart else {
      runs = nil
      return
    }
    var runs: [LogRun] = []
    var found: UInt64?
    // Writes that were made durable together may share one log entry, under the last of their numbers.
    try transaction.changes(after: sequence - 1) { entry in
      guard entry.sequence == found ?? entry.sequence else { return false }
      found = entry.sequence
      runs += entry.runs
      return true
    }
    self.runs = runs
  }

  private var collections: Set<UInt32> { Set((runs ?? []).map(\.collection)) }

  /// Whether a peer subscribes to any of the documents that may be sent to it.
  ///
  /// For a document that was deleted, or changed since, any subscription of the peer to its collection
  /// counts.
  /// - Complexity: O(*n*) in the documents, up to 10,000, and the peer's queries.
  func concerns(
    _ delivery: PeerDelivery, where maySend: (String) -> Bool,
    _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    let queries = delivery.queries
    guard runs != nil else { return !queries.isEmpty }
    var rules: [UInt32: ReadRule] = [:]
    var matchers: [UInt32: [RecordMatcher]] = [:]
    for number in collections {
      guard let collection = try transaction.collection(number: number), maySend(collection.name),
        delivery.access.mayRead(collection.name)
      else { continue }
      rules[number] = delivery.access.partialRule(of: collection.name)
      rules[number]?.resolve(collection.keys)
      matchers[number] = queries.filter { $0.collection.isSame(as: collection.name) }.map { query in
        var matcher = query.matcher
        matcher.resolve(collection.keys)
        return matcher
      }
    }
    matchers = matchers.filter { !$0.value.isEmpty }
    guard !matchers.isEmpty else { return false }
    var (visited, judged, matches) = (0, 0, false)
    var found: UInt64?
    try transaction.changes(after: sequence - 1) { entry in
      guard entry.sequence == found ?? entry.sequence else { return false }
      found = entry.sequence
      try entry.forEachMember(where: { collection, _ in
        guard matchers[collection] != nil else { return false }
        visited += 1
        return visited <= Self.visitedDocuments
      }) { collection, _, id, _, record in
        guard record.isAlive else { return true }
        judged += 1
        guard rules[collection]?.allows(id, record) ?? true else { return true }
        for matcher in matchers[collection, default: []] where matcher.matches(id, record) { matches = true }
        return !matches
      }
      return !matches
    }
    return matches || judged < visited
  }

  /// How many of the documents are withheld from a peer because they are too large to be sent.
  func withheld(_ delivery: PeerDelivery, _ transaction: borrowing ReadTransaction) throws -> Int {
    guard delivery.withheldDocuments > 0, let runs else { return delivery.withheldDocuments }
    return try delivery.withheldDocuments(of: collections) { key in
      guard let collection = try transaction.collection(number: key.collection) else { return false }
      var isWritten = false
      _ = try transaction.visitIntactRecord(collection, key.id, damaged: { _ in }) { place, _, _ in
        guard let place else { return }
        isWritten = runs.contains { $0.collection == key.collection && $0.numbers ~= place.number.rawValue }
      }
      return isWritten
    }
  }
}
