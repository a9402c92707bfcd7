import CRDTCore
import DocStore
import QueryEngine
import SyncProtocol
import Transports

/// The documents of one commit, by which it is settled whose concern it is.
struct WrittenCommit {
  /// So many documents are looked at for a peer; beyond them it counts that it asks for something of their collections.
  private static let visitedDocuments = 10_000

  let sequence: UInt64
  /// What it wrote, by collection and number; `nil` where the log does not go back to it.
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
    // Writes that were made durable together may have one entry, under the last of their numbers.
    try transaction.changes(after: sequence - 1) { entry in
      guard entry.sequence == found ?? entry.sequence else { return false }
      found = entry.sequence
      runs += entry.runs
      return true
    }
    self.runs = runs
  }

  private var collections: Set<UInt32> { Set((runs ?? []).map(\.collection)) }

  /// Whether a peer subscribes to any of the documents, which may go to it.
  ///
  /// Of a document that was deleted, or changed since, it counts that the peer subscribes to anything of its collection.
  /// - Complexity: O(*n*) in the documents, up to 10,000, and the peer's queries.
  func concerns(
    _ queries: [SubscriptionQuery], where maySend: (String) -> Bool,
    _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    guard runs != nil else { return !queries.isEmpty }
    var matchers: [UInt32: [RecordMatcher]] = [:]
    for number in collections {
      guard let collection = try transaction.collection(number: number), maySend(collection.name) else {
        continue
      }
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
        for matcher in matchers[collection, default: []] where matcher.matches(id, record) { matches = true }
        return !matches
      }
      return !matches
    }
    return matches || judged < visited
  }

  /// How many of the documents are kept back from a peer, since they are too large to be sent.
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
