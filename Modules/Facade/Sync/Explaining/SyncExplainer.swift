import CRDTCore
import DocStore
import QueryEngine
import ScopePolicy
import SyncProtocol
import Transports

/// Determines from the store, the scopes and the sessions why a document is, or is not, at another peer.
///
/// Reasons that last are checked first: a scope before a connection, a connection before a subscription.
struct SyncExplainer {
  typealias Reason = DunlinSyncExplanation.Reason

  /// The maximum number of documents that a backlog counts.
  private static let countedDocuments = 10_000

  let local: LocalDatabase
  let sync: PeerSync
  let collection: String
  let id: DocumentID
  let peer: DunlinPeer

  /// The local state of the document.
  private enum Local {
    case unknown
    case deleted
    case damaged
    /// The document lives, and has not changed since a commit.
    case alive(sequence: UInt64)
  }

  /// Why the document is, or is not, at the other peer.
  func outgoing(_ transaction: borrowing ReadTransaction) throws -> Reason {
    guard let known = try transaction.collection(collection) else { return .noSuchDocument }
    let sequence: UInt64
    switch try local(known, transaction) {
    case .unknown: return .noSuchDocument
    case .deleted: return .deleted
    case .damaged: return .damagedHere
    case .alive(let commit): sequence = commit
    }
    guard Gatekeeper(gate: sync.scopes, peer: peer.kind, access: .everything).maySend(collection) else {
      return .scope((sync.scopes.scopes[TextKey(collection)] ?? .localPeerOnly).rawValue)
    }
    let standings = standings
    guard let standing = standings.last(where: \.isConnected) else {
      let had = standings.contains { $0.delivery.servedSequence ?? 0 >= sequence }
      guard had, let departed = standings.last, departed.delivery.isInterestKnown,
        try mismatch(departed.delivery.queries, known, transaction) == nil,
        !departed.delivery.withholds(DocumentKey(collection: known.id, id: id)),
        try departed.delivery.access.mayRead(known, id, in: transaction)
      else { return .notConnected }
      return .arrived(commitID: sequence)
    }
    return try outgoing(to: standing, known, sequence, transaction)
  }

  private func outgoing(
    to standing: PeerSyncState, _ known: Collection, _ sequence: UInt64,
    _ transaction: borrowing ReadTransaction
  ) throws -> Reason {
    let delivery = standing.delivery
    guard delivery.isInterestKnown else { return .waiting(nil) }
    let queries = delivery.queries.filter { $0.collection.isSame(as: collection) }
    if let reason = try mismatch(queries, known, transaction) { return reason }
    guard try delivery.access.mayRead(known, id, in: transaction) else {
      return .noMatch(queries.map { named($0, ["the grant of the peer lets it read the document"]) })
    }
    if let byteCount = try oversizeBytes(transaction),
      delivery.withholds(DocumentKey(collection: known.id, id: id))
    {
      return .tooLarge(byteCount: byteCount, limit: local.store.hardDocumentBytes)
    }
    guard !standing.connection.progress.isAnythingUnreadable else { return .uncertain }
    guard let served = delivery.servedSequence else { return .waiting(nil) }
    guard served < sequence else { return .arrived(commitID: sequence) }
    return .waiting(try backlog(after: served, before: sequence, delivery, transaction))
  }

  /// Why the document has, or has not, come from the other peer.
  func incoming(_ transaction: borrowing ReadTransaction) throws -> Reason {
    if let known = try transaction.collection(collection) {
      switch try local(known, transaction) {
      case .unknown: break
      case .deleted: return .deleted
      case .damaged: return .damagedHere
      case .alive(let sequence): return .arrived(commitID: sequence)
      }
    }
    let queries = local.subscriptions.queries.filter { $0.collection.isSame(as: collection) }
    guard !queries.isEmpty else { return .notSubscribed }
    let unmet = queries.map { named($0, $0.unmetConditions(of: id)) }
    guard unmet.contains(where: \.conditions.isEmpty) else { return .noMatch(unmet) }
    guard let standing = standings.last(where: \.isConnected) else { return .notConnected }
    guard !standing.connection.progress.isAnythingUnreadable else { return .uncertain }
    let heldBack = standing.connection.progress.documentsWithheldByPeer
    guard heldBack == 0 else { return .heldBack(documents: heldBack) }
    guard standing.caughtUpNumber >= sync.network.subscriptionsNumber, standing.hasAll else {
      return .waiting(nil)
    }
    return .notBrought
  }

  /// The other subscribed collections that a reason may be about, in order.
  func otherCollections(for reason: Reason) -> [String] {
    guard case .heldBack = reason else { return [] }
    let names = Set(local.subscriptions.queries.map(\.collection)).filter { !$0.isSame(as: collection) }
    return names.sorted()
  }

  // MARK: - What is known

  /// The progress of sync with the peer; ended connections come first.
  private var standings: [PeerSyncState] {
    sync.network.standings.filter { DunlinSyncTarget.peer(peer).covers($0) }
  }

  private func local(_ known: Collection, _ transaction: borrowing ReadTransaction) throws -> Local {
    var local = Local.unknown
    var isDamaged = false
    let isIntact = try transaction.visitIntactRecord(known, id, damaged: { _ in isDamaged = true }) {
      place, record, _ in
      guard record.isAlive, let place else {
        local = .deleted
        return
      }
      local = .alive(sequence: place.sequence)
    }
    guard case .unknown = local, !isIntact else { return local }
    return isDamaged ? .damaged : .unknown
  }

  /// Why no query matches the document; `nil` if one does.
  private func mismatch(
    _ queries: [SubscriptionQuery], _ known: Collection, _ transaction: borrowing ReadTransaction
  ) throws -> Reason? {
    let queries = queries.filter { $0.collection.isSame(as: collection) }
    guard !queries.isEmpty else { return .notSubscribed }
    let unmet = try transaction.withRecord(known, id) { record, _ in
      queries.map { named($0, $0.unmetConditions(of: id, record, known.keys)) }
    }
    guard let unmet, !unmet.contains(where: \.conditions.isEmpty) else { return nil }
    return .noMatch(unmet)
  }

  private func named(
    _ query: SubscriptionQuery, _ conditions: [String]
  ) -> DunlinSyncExplanation.UnmetSubscription {
    DunlinSyncExplanation.UnmetSubscription(subscription: query.statement, conditions: conditions)
  }

  /// The document's size, if it is too large to be sent.
  private func oversizeBytes(_ transaction: borrowing ReadTransaction) throws -> Int? {
    try transaction.oversizeDocuments()
      .first { $0.id == id && $0.collection.isSame(as: collection) }?.byteCount
  }

  /// The documents of the commits between two numbers that the peer subscribes to.
  private func backlog(
    after served: UInt64, before sequence: UInt64, _ delivery: PeerDelivery,
    _ transaction: borrowing ReadTransaction
  ) throws -> DunlinSyncExplanation.Backlog {
    var (documents, bytes, visited) = (0, 0, 0)
    var matchers: [UInt32: [RecordMatcher]] = [:]
    let (queries, access) = (delivery.queries, delivery.access)
    let gatekeeper = Gatekeeper(gate: sync.scopes, peer: peer.kind, access: access)
    guard served < sequence - 1 else { return DunlinSyncExplanation.Backlog(documents: 0, byteCount: 0) }
    try transaction.changes(after: served, through: sequence - 1) { entry in
      for run in entry.runs where matchers[run.collection] == nil {
        let known = try transaction.collection(number: run.collection)
        matchers[run.collection] = known.map { found(queries, $0, gatekeeper) } ?? []
      }
      try entry.forEachMember(where: { number, _ in !matchers[number, default: []].isEmpty }) {
        number, _, id, _, record in
        visited += 1
        if matchers[number, default: []].contains(where: { $0.matches(id, record) }) {
          documents += 1
          bytes += record.bytes.byteCount
        }
        return visited < Self.countedDocuments
      }
      return visited < Self.countedDocuments
    }
    return DunlinSyncExplanation.Backlog(documents: documents, byteCount: bytes)
  }

  private func found(
    _ queries: [SubscriptionQuery], _ known: Collection, _ gatekeeper: Gatekeeper
  ) -> [RecordMatcher] {
    guard gatekeeper.maySend(known.name) else { return [] }
    return queries.filter { $0.collection.isSame(as: known.name) }.map { query in
      var matcher = query.matcher
      matcher.resolve(known.keys)
      return matcher
    }
  }
}
