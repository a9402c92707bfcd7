import DocStore
import ScopePolicy
import SyncProtocol
import Transports

extension DunlinSync {
  /// Waits until all that the connected peers have for a subscription is here, applied and durable.
  ///
  /// It counts what each peer that is connected now had when it heard of the subscription; later changes follow live, and are
  /// not waited for. A peer that leaves meanwhile is waited for no longer, as long as another one has brought all it had.
  /// Peers that come meanwhile are not waited for. Where no peer is connected it waits for the first that has brought
  /// all it has.
  /// - Parameters:
  ///   - subscription: A subscription of this database.
  ///   - timeout: How long to wait at most; `nil` for ever, be it that a peer cannot send all it has.
  /// - Throws: `timeout`, whose message says what of which peer is missing; `cancelled` as soon as the subscription is
  ///   cancelled; `notSyncing` where sync is not started, and as soon as it stops; `closed` as soon as the database
  ///   closes; `CancellationError`.
  public func waitUntilHere(_ subscription: DunlinSubscription, timeout: Duration? = nil) async throws {
    let (core, wait) = (core, try SyncWait(core))
    guard core.subscriptions.active.contains(where: { $0 === subscription }) else {
      throw DunlinError(.cancelled, "the subscription is cancelled, or one of another database")
    }
    let number = core.network.subscriptionsNumber
    let asked = Set(core.network.standings.filter(\.isConnected).map(\.connection.id))
    try await wait.wait(timeout) {
      guard !subscription.isCancelled else {
        throw DunlinError(.cancelled, "the subscription was cancelled while it was waited for")
      }
      let standings = core.network.standings
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

  /// Waits until a write has reached another peer: it is durable there.
  ///
  /// A peer has a write when it has all of it that it subscribes to, and that is at least one document. A peer that subscribes
  /// to nothing of it, or to which a sync scope lets nothing of it, does not count. It does no harm that the peer has left
  /// since. Of `nil`, everything up to now, it counts that the peer subscribes to anything, and that nothing at all is
  /// kept back from it.
  /// - Parameters:
  ///   - commitID: The `commitID` of a statement's result; `nil` for all that was written here up to now.
  ///   - target: Which peers are meant; one of them is enough.
  ///   - timeout: How long to wait at most; `nil` for ever, be it that a document is too large to be sent.
  /// - Throws: `timeout`, whose message says how far each of the peers is; `argument` for a commit that there is not;
  ///   `notSyncing` where sync is not started, and as soon as it stops; `closed` as soon as the database closes;
  ///   `CancellationError`.
  public func waitUntilArrived(
    _ commitID: UInt64? = nil, at target: DunlinSyncTarget = .anyPeer, timeout: Duration? = nil
  ) async throws {
    let (core, wait) = (core, try SyncWait(core))
    let last = try translatingErrors { try core.store.read { $0.sequence } }
    if let commitID, !(1...max(last, 1) ~= commitID) {
      throw DunlinError(.argument, "there is no commit \(commitID): the last one is \(last)")
    }
    try await wait.wait(timeout) {
      let standings = core.network.standings.filter(target.covers)
      return try core.store.read { transaction in
        let commit = try commitID.map { try WrittenCommit($0, transaction) }
        var missing: [String] = []
        for standing in standings {
          let text = try standing.missing(commit, or: last, core, transaction)
          guard let text else { return .reached }
          if standing.isConnected { missing.append(text) }
        }
        return .missing(missing.isEmpty ? target.absence : missing.joined(separator: "; "))
      }
    }
  }

  /// Waits until this peer and another one have all of each other: what each had for the other's subscriptions.
  ///
  /// What is written here before the call has arrived there then, and all that the other peer had when it heard of the
  /// subscriptions of now is here. Later changes follow live, and are not waited for.
  /// - Parameters:
  ///   - peer: A peer of the presence graph; where it is not connected, its next connection is waited for.
  ///   - timeout: How long to wait at most; `nil` for ever.
  /// - Throws: `timeout`, whose message says what is missing in which direction; `notSyncing` where sync is not started, and
  ///   as soon as it stops; `closed` as soon as the database closes; `CancellationError`.
  public func waitUntilInSync(with peer: DunlinPeer, timeout: Duration? = nil) async throws {
    let (core, wait) = (core, try SyncWait(core))
    let last = try translatingErrors { try core.store.read { $0.sequence } }
    let number = core.network.subscriptionsNumber
    let target = DunlinSyncTarget.peer(peer)
    try await wait.wait(timeout) {
      let connected = core.network.standings.filter { $0.isConnected && target.covers($0) }
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

extension PeerStanding {
  /// What is missing until the peer has a commit, or all up to the last one; `nil` where it has.
  fileprivate func missing(
    _ commit: WrittenCommit?, or last: UInt64, _ core: Core, _ transaction: borrowing ReadTransaction
  ) throws -> String? {
    guard delivery.isInterestKnown else { return "\(peer.name) has not said yet what it subscribes to" }
    guard !delivery.pullsNothing else { return "\(peer.name) subscribes to nothing" }
    guard let commit else { return missingThere(last, withheld: delivery.withheldDocuments) }
    if let text = missingThere(commit.sequence, withheld: 0) { return text }
    let concerns = try commit.concerns(
      delivery.queries, where: { core.scopes.maySend(collection: $0, to: peer.kind) }, transaction)
    guard concerns else { return "\(peer.name) subscribes to nothing of it, or a sync scope keeps it here" }
    return missingThere(commit.sequence, withheld: try commit.withheld(delivery, transaction))
  }
}
