package import CRDTCore
import DocStore
import Foundation
import SyncProtocol
import Transports

/// What a running peer reports about itself and about others.
extension ControlActions {
  /// Everything that the status screen shows of the peer.
  func status() throws -> [TextKey: Value] {
    let graph = core.presence.graph
    let own = graph.localPeer
    let statistics = try core.store.statistics()
    let standings = core.network.standings.filter(\.isConnected)
    return [
      "name": .string(own.deviceName), "kind": .string("\(own.kind)"), "id": .string(own.id),
      "app": .string(core.membership.appID), "identity": .string(core.membership.proof),
      "user": own.user.map { .string($0) } ?? .null, "key": own.peerKey.map { .string($0) } ?? .null,
      "system": .string(own.system), "version": .string(own.version),
      "process": .count(ProcessInfo.processInfo.processIdentifier), "store": .string(core.store.path),
      "uptime": .double((ContinuousClock.now - core.opening) / .seconds(1)),
      "isSyncing": .bool(core.isSyncActive),
      "listening": .array(core.network.listeningAddresses.map { .string($0) }),
      "subscriptions": .array(
        core.subscriptions.active.map {
          .map([
            "query": .string($0.queryText), "onLeave": .string($0.onLeave == .evict ? "evict" : "keep"),
          ])
        }),
      "conditions": .array(core.network.conditions.map(\.description).sorted().map { .string($0) }),
      "documents": .count(statistics.documentCount), "commit": .count(statistics.sequence),
      "fileBytes": .count(statistics.fileBytes), "waitingWriters": .count(statistics.waitingWriters),
      "clockLeadSeconds": .count(Int(statistics.clockLead / .seconds(1))),
      "failure": statistics.failure.map { .string("\($0)") } ?? .null,
      "peers": .array(
        graph.remotePeers.map { peer in
          .map(
            values(of: peer, standings.filter { $0.peer.site.description == peer.id }, statistics.sequence))
        }),
    ]
  }

  private func values(
    of peer: DunlinPeer, _ standings: [PeerStanding], _ sequence: UInt64
  ) -> [TextKey: Value] {
    var values = peer.values
    let links = Dictionary(standings.map { ($0.connection.id, $0) }) { $1 }
    values["connections"] = .array(
      peer.connections.map { connection in
        var link = connection.values
        if let standing = links[connection.id] {
          link.merge(Self.figures(of: standing, sequence)) { $1 }
        }
        return .map(link)
      })
    return values
  }

  /// How far sync over one connection has progressed, and how much it has transferred.
  private static func figures(of standing: PeerStanding, _ sequence: UInt64) -> [TextKey: Value] {
    let statistics = standing.connection.statistics
    let served = standing.delivery.servedSequence
    // This peer need not send anything to a peer that pulls nothing.
    let lag: UInt64? = standing.delivery.pullsNothing ? 0 : served.map { sequence - min($0, sequence) }
    return [
      "bytesSent": .count(statistics.bytesSent), "bytesReceived": .count(statistics.bytesReceived),
      "documentsSent": .count(statistics.documentsSent),
      "documentsReceived": .count(statistics.documentsReceived),
      "isCaughtUp": .bool(standing.hasAll), "lag": lag.map { .count($0) } ?? .null,
      "hasUnreadable": .bool(standing.connection.progress.isAnythingUnreadable),
      "hasWithheld": .bool(standing.connection.progress.isAnythingWithheld),
    ]
  }

  /// Explains why a document is or is not at another peer, or has not arrived from there.
  func why(
    _ text: String, in collection: String, _ name: String, isIncoming: Bool
  ) throws -> [TextKey: Value] {
    let peer = try peer(named: name)
    let id = DunlinDocumentID(try DocumentID(written: text))
    let sync = DunlinSync(core: core)
    let explanation =
      try isIncoming
      ? sync.explain(id, in: collection, from: peer) : sync.explain(id, in: collection, at: peer)
    return ["text": .string(explanation.description), "isThere": .bool(explanation.isThere)]
  }

  /// Finds a connected peer by its name or its id.
  ///
  /// - Throws: `notFound` with the peers that are present; `argument` for a name that several peers have.
  private func peer(named name: String) throws(ControlError) -> DunlinPeer {
    let peers = core.presence.graph.remotePeers
    let named = peers.filter { $0.id == name || $0.deviceName == name }
    if let peer = named.first, named.count == 1 { return peer }
    let all = peers.map { "\($0.deviceName) (\($0.id))" }.joined(separator: ", ")
    guard named.isEmpty else {
      throw ControlError(
        .argument, PlainText.of("\(named.count) peers are called '\(name)', say the id of one: \(all)"))
    }
    let others = peers.isEmpty ? ", nor any other" : "; there are \(all)"
    throw ControlError(.notFound, PlainText.of("no peer '\(name)' is there\(others)"))
  }
}

extension DunlinPeer {
  /// The fields that commands print of the peer as JSON.
  package var values: [TextKey: Value] {
    [
      "id": .string(id), "name": .string(deviceName), "kind": .string("\(kind)"), "system": .string(system),
      "version": .string(version), "user": user.map { .string($0) } ?? .null,
      "key": peerKey.map { .string($0) } ?? .null, "reachesBigPeer": .bool(isConnectedToBigPeer),
      "connections": .array(connections.map { .map($0.values) }), "metadata": .map(exactMetadata),
    ]
  }
}

extension DunlinConnection {
  fileprivate var values: [TextKey: Value] { ["kind": .string(kind), "address": .string(address)] }
}
