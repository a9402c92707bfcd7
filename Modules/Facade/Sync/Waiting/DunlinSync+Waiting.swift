import DocStore
import ScopePolicy
import SyncProtocol
import Transports

extension DunlinSync {
  /// Waits until all that the connected peers have for a subscription is here, applied and durable.
  ///
  /// It covers what each peer that is connected now had when it received the subscription. Later changes
  /// follow live, and are not waited for. A peer that disconnects meanwhile is no longer waited for, as long
  /// as another one has sent all it had. Peers that connect meanwhile are not waited for. If no peer is
  /// connected, it waits for the first one that sends all it has.
  /// - Parameters:
  ///   - subscription: A subscription of this database.
  ///   - timeout: The longest time to wait. With `nil` it waits for ever, even if a peer cannot send all it
  ///     has.
  /// - Throws: `timeout`, whose message says what is missing from which peer; `cancelled` as soon as the
  ///   subscription is cancelled; `notSyncing` if sync is not started, and as soon as it stops; `closed` as
  ///   soon as the database closes; `CancellationError`.
  public func waitUntilHere(_ subscription: DunlinSubscription, timeout: Duration? = nil) async throws {
    let (local, sync, wait) = (local, sync, try SyncWait(sync))
    guard local.subscriptions.active.contains(where: { $0 === subscription }) else {
      throw DunlinError(.cancelled, "the subscription is cancelled, or one of another database")
    }
    let number = sync.network.subscriptionsNumber
    let asked = Set(sync.network.standings.filter(\.isConnected).map(\.connection.id))
    try await wait.wait(timeout) {
      guard !subscription.isCancelled else {
        throw DunlinError(.cancelled, "the subscription was cancelled while it was waited for")
      }
      let standings = sync.network.standings
      let connected = standings.filter(\.isConnected)
      let missing = connected.filter { asked.contains($0.connection.id) }
        .compactMap { $0.missingHere(number) }
      guard missing.isEmpty else { return .missing(missing.joined(separator: "; ")) }
      guard !standings.contains(where: { $0.missingHere(number) == nil }) else { return .reached }
      return .missing(
        connected.isEmpty
          ? DunlinSyncTarget.anyPeer.absence
          : connected.compactMap { $0.missingHere(number) }.joined(separator: "; "))
    }
  }

  /// Waits until a write has reached another peer and is durable there.
  ///
  /// A peer has a write when it has all documents of the write that it subscribes to, and at least one. A
  /// peer does not count if it subscribes to none of them, or if a sync scope lets none of them through. A
  /// peer that has disconnected since still counts.
  ///
  /// With `nil`, which means everything up to now, the peer must subscribe to something, and no document at
  /// all may be withheld from it.
  /// - Parameters:
  ///   - commitID: The `commitID` of a statement's result; `nil` for all that was written here up to now.
  ///   - target: The peers in question; one of them is enough.
  ///   - timeout: The longest time to wait. With `nil` it waits for ever, even if a document is too large to
  ///     be sent.
  /// - Throws: `timeout`, whose message says how far each of the peers is; `argument` for a commit that does
  ///   not exist; `notSyncing` if sync is not started, and as soon as it stops; `closed` as soon as the
  ///   database closes; `CancellationError`.
  public func waitUntilArrived(
    _ commitID: UInt64? = nil, at target: DunlinSyncTarget = .anyPeer, timeout: Duration? = nil
  ) async throws {
    let (local, sync, wait) = (local, sync, try SyncWait(sync))
    let last = try translatingErrors { try local.store.read { $0.sequence } }
    if let commitID, commitID == 0 || commitID > last {
      throw DunlinError(.argument, "there is no commit \(commitID): the last one is \(last)")
    }
    try await wait.wait(timeout) {
      let standings = sync.network.standings.filter(target.covers)
      return try local.store.read { transaction in
        let commit = try commitID.map { try WrittenCommit($0, transaction) }
        var missing: [String] = []
        for standing in standings {
          let text = try standing.missing(commit, or: last, sync.scopes, transaction)
          guard let text else { return .reached }
          if standing.isConnected { missing.append(text) }
        }
        return .missing(missing.isEmpty ? target.absence : missing.joined(separator: "; "))
      }
    }
  }

  /// Waits until this peer and another one each have all that the other had for their subscriptions.
  ///
  /// All that was written here before the call is then there. All that the other peer had when it received
  /// the current subscriptions is then here. Later changes follow live, and are not waited for.
  /// - Parameters:
  ///   - peer: A peer of the presence graph. If it is not connected, its next connection is waited for.
  ///   - timeout: The longest time to wait; `nil` for ever.
  /// - Throws: `timeout`, whose message says what is missing in which direction; `notSyncing` if sync is not
  ///   started, and as soon as it stops; `closed` as soon as the database closes; `CancellationError`.
  public func waitUntilInSync(with peer: DunlinPeer, timeout: Duration? = nil) async throws {
    let (local, sync, wait) = (local, sync, try SyncWait(sync))
    let last = try translatingErrors { try local.store.read { $0.sequence } }
    let number = sync.network.subscriptionsNumber
    let target = DunlinSyncTarget.peer(peer)
    try await wait.wait(timeout) {
      let connected = sync.network.standings.filter { $0.isConnected && target.covers($0) }
      guard !connected.isEmpty else { return .missing(target.absence) }
      let missing = connected.map { standing in
        let there =
          standing.delivery.pullsNothing
          ? nil : standing.missingThere(last, withheld: standing.delivery.withheldDocuments)
        return [standing.missingHere(number), there].compactMap(\.self)
      }
      guard !missing.contains(where: \.isEmpty) else { return .reached }
      return .missing(missing.joined().joined(separator: "; "))
    }
  }
}

extension PeerSyncState {
  /// What the peer lacks of a commit, or of all up to the last one; `nil` if it lacks nothing.
  fileprivate func missing(
    _ commit: WrittenCommit?, or last: UInt64, _ scopes: SyncScopes, _ transaction: borrowing ReadTransaction
  ) throws -> String? {
    guard delivery.isInterestKnown else { return "\(peer.name) has not said yet what it subscribes to" }
    guard !delivery.pullsNothing else { return "\(peer.name) subscribes to nothing" }
    guard let commit else { return missingThere(last, withheld: delivery.withheldDocuments) }
    if let text = missingThere(commit.sequence, withheld: 0) { return text }
    let concerns = try commit.concerns(
      delivery, where: { scopes.maySend(collection: $0, to: peer.kind) }, transaction)
    guard concerns else {
      return "\(peer.name) subscribes to nothing of it, may not read it, or a sync scope keeps it here"
    }
    return missingThere(commit.sequence, withheld: try commit.withheld(delivery, transaction))
  }
}
