package import CRDTCore
import DocStore
import DunlinControl
import Logging
import QueryEngine
import SyncProtocol
import Transports

/// The database as its control socket sees it.
extension Core: ControlledDatabase {
  var isOpen: Bool { state.isOpen }

  var store: Store { local.store }

  var engine: Engine { local.engine }

  var release: String { Dunlin.version }

  var logger: Logger { local.reporter.logger }

  func readRows(of prepared: PreparedStatement, arguments: [TextKey: Value]) throws -> any ControlledRows {
    try local.rowReaders.begin(prepared, arguments) { row, _ in try row.values() }
  }

  func observeRows(
    of statement: Statement, arguments: [TextKey: Value]
  ) throws -> any ControlledObservation {
    try local.observers.observe(statement, arguments)
  }

  func runBlocking(
    _ body: @escaping @Sendable (_ check: () throws -> Void) throws -> [TextKey: Value]
  ) async throws -> [TextKey: Value] {
    try await besideTasks { check in
      try body { try check(MaintenanceProgress(done: 0, total: 0)) { _ in } }
    }
  }

  func verify(
    progress: @escaping @Sendable (MaintenanceProgress) -> Void
  ) async throws -> VerificationReport {
    try await DunlinStore(local: local).verify(progress: progress)
  }

  func backup(
    to path: String, progress: @escaping @Sendable (MaintenanceProgress) -> Void
  ) async throws {
    try await DunlinStore(local: local).backup(to: path, progress: progress)
  }

  var carriedFiles: [String] { Dunlin.carriedFiles }

  var peerReport: PeerReport {
    let graph = presence.graph
    let standings = sync.network.standings.filter(\.isConnected)
    var grant: PeerReport.Grant?
    var granted: (String) -> DunlinGrantedReading? = { _ in nil }
    #if TLS
      if let own = sync.identity?.own {
        grant = own.status.map {
          PeerReport.Grant(name: $0.rulesName, sha256: $0.sha256, validUntil: $0.validUntil.timeText)
        }
        granted = own.reading
      }
    #endif
    return PeerReport(
      own: ReportedPeer(graph.localPeer), application: membership.appID, proof: membership.proof,
      uptime: .now - state.opening, isSyncing: sync.isActive, listening: sync.network.listeningAddresses,
      subscriptions: local.subscriptions.active.map {
        PeerReport.Subscription(
          query: $0.queryText, evicts: $0.onLeave == .evict, granted: granted($0.collectionName)?.rawValue)
      },
      conditions: sync.network.conditions.map(\.description),
      peers: graph.remotePeers.map { peer in
        ReportedPeer(peer, standings.filter { $0.peer.site.description == peer.id })
      }, grant: grant)
  }

  func explain(
    _ id: DocumentID, in collection: String, peerID: String, isIncoming: Bool
  ) throws -> (text: String, isThere: Bool)? {
    guard let peer = presence.graph.remotePeers.first(where: { $0.id == peerID }) else { return nil }
    let (sync, id) = (DunlinSync(local: local, sync: sync), DunlinDocumentID(id))
    let explanation =
      try isIncoming
      ? sync.explain(id, in: collection, from: peer) : sync.explain(id, in: collection, at: peer)
    return (explanation.description, explanation.isThere)
  }

  func ask(
    _ query: String, arguments: [TextKey: Value], peerID: String,
    take: @Sendable ([[TextKey: Value]]) async throws -> Void
  ) async throws -> Bool {
    guard let peer = presence.graph.remotePeers.first(where: { $0.id == peerID }) else { return false }
    let asked = try DunlinSync(local: local, sync: sync).ask(
      query, peer, arguments, DunlinRemoteQueryLimits())
    var (rows, start): ([[TextKey: Value]], ContinuousClock.Instant) = ([], .now)
    for try await row in asked {
      rows.append(row.fields)
      // Rows that arrive quickly go on together, and others soon.
      guard rows.count >= 256 || ContinuousClock.now - start > .milliseconds(100) else { continue }
      try await take(rows)
      (rows, start) = ([], .now)
    }
    if !rows.isEmpty { try await take(rows) }
    return true
  }

  func controlError(for error: any Error) -> ControlError { ControlError(any: error) }
}

extension RowReader: ControlledRows where Element == [TextKey: Value] {
  package func takeRows() async throws -> [[TextKey: Value]] { try await take() }

  package func stop() { stop(nil) }
}

extension QueryObservation: ControlledObservation {
  func nextRows() async -> RowList<Row>? { await next()?.diff.rows }

  func end() { cancel() }
}
