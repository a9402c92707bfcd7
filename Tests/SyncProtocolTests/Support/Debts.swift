import CRDTCore
import DocStore
import QueryEngine
import ScopePolicy
import SyncProtocol

/// What a sender owes a receiver and has not delivered, as in `models/session_model.py`, for real stores.
struct Debt: CustomStringConvertible {
  let sender: String
  let receiver: String
  let collection: String
  let id: DocumentID
  let reason: String

  var description: String { "\(sender) owes \(receiver) \(collection)/\(id.value): \(reason)" }
}

extension TestNetwork {
  /// Every document that concerns a direction of a link, may flow, and of which the receiver lacks something.
  func debts() throws -> [Debt] {
    try endpoints.filter { $0.closed == nil }.flatMap { end in
      try end.other.map { try debts(from: $0.peer, to: end.peer) } ?? []
    }
  }

  private func debts(from sender: TestPeer, to receiver: TestPeer) throws -> [Debt] {
    var debts: [Debt] = []
    for name in Set(receiver.queries.map(\.collection)).sorted() {
      guard sender.scopes.maySend(collection: name, to: receiver.kind) else { continue }
      let matchers = try receiver.queries.filter { $0.collection == name }
        .map { try RecordMatcher($0.predicate, arguments: $0.arguments) }
      let here = try sender.states(name, matchers)
      let there = try receiver.states(name, matchers)
      for (id, mine) in here where !mine.isOversize {
        let theirs = there[id]
        guard mine.matches || theirs?.matches == true else { continue }
        let reason: String
        if let theirs {
          guard try theirs.gains(from: mine) else { continue }
          reason =
            theirs.vector == mine.vector
            ? "equal vectors, other content" : "\(theirs.vector) lacks \(mine.vector)"
        } else {
          reason = "it is missing"
        }
        debts.append(
          Debt(sender: sender.name, receiver: receiver.name, collection: name, id: id, reason: reason))
      }
    }
    return debts
  }
}

/// A document's state as the rule of debts needs it.
struct DocumentState {
  var vector: VersionVector
  var matches: Bool
  var isOversize: Bool
  /// The whole document, as it would be sent.
  var wire: [UInt8]
  var record: Record
  var summary: Summary
  var tables: RecordTables

  /// Whether merging another peer's state would change this one.
  func gains(from other: DocumentState) throws -> Bool {
    if vector != other.vector, vector.dominates(other.vector) { return false }
    var tables = tables
    let outcome =
      vector == other.vector
      ? try DocumentCodec.repair(
        wire: other.wire.span.bytes, existing: StoredDocument(record.bytes.span.bytes, summary: summary),
        own: SiteID(high: 1, low: 1),
        tables: &tables)
      : try DocumentCodec.merge(
        wire: other.wire.span.bytes, existing: StoredDocument(record.bytes.span.bytes, summary: summary),
        own: SiteID(high: 1, low: 1),
        tables: &tables)
    if case .changed = outcome { return true }
    return false
  }
}

extension TestPeer {
  func states(_ name: String, _ matchers: [RecordMatcher]) throws -> [DocumentID: DocumentState] {
    try store.read { transaction in
      var states: [DocumentID: DocumentState] = [:]
      guard let collection = try transaction.collection(name) else { return states }
      let oversize = Set(try transaction.oversizeDocuments().map(\.id))
      let matchers = matchers.map { matcher in
        var matcher = matcher
        matcher.resolve(collection.keys)
        return matcher
      }
      let sites = transaction.sites
      try transaction.forEachRecord(in: collection) { id, summary, record in
        var matches = false
        for matcher in matchers where record.isAlive { matches = matches || matcher.matches(id, record) }
        let key = try DocumentID(validating: id)
        let tables = RecordTables(keys: collection.keys, sites: sites)
        var wire = ByteWriter()
        try WireDocument.append(record, lacking: VersionVector(), tables: tables, to: &wire)
        let copy = try transaction.record(collection, key)
        states[key] = DocumentState(
          vector: try record.vector(sites: sites), matches: matches, isOversize: oversize.contains(key),
          wire: wire.bytes, record: copy ?? Record(bytes: []), summary: summary,
          tables: tables)
        return true
      }
      return states
    }
  }
}
