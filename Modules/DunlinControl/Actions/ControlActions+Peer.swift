import CRDTCore
import DocStore
import Foundation
import Transports

/// What a running peer reports about itself and about others.
extension ControlActions {
  /// Everything that the status screen shows of the peer.
  func status() throws -> [TextKey: Value] {
    let statistics = try database.store.statistics()
    let report = database.peerReport
    let own = report.own
    return [
      "name": .string(own.name), "kind": .string(own.kind), "id": .string(own.id),
      "app": .string(report.application), "identity": .string(report.proof),
      "user": own.user.map { .string($0) } ?? .null, "key": own.key.map { .string($0) } ?? .null,
      "grant": report.grant.map {
        .map([
          "name": .string($0.name), "sha256": .string($0.sha256), "validUntil": .string($0.validUntil),
        ])
      } ?? .null,
      "system": .string(own.system), "version": .string(own.version),
      "process": .count(ProcessInfo.processInfo.processIdentifier), "store": .string(database.store.path),
      "uptime": .double(report.uptime / .seconds(1)), "isSyncing": .bool(report.isSyncing),
      "listening": .array(report.listening.map { .string($0) }),
      "subscriptions": .array(
        report.subscriptions.map {
          .map([
            "query": .string($0.query), "onLeave": .string($0.evicts ? "evict" : "keep"),
            "granted": .string($0.granted ?? "all"),
          ])
        }),
      "conditions": .array(report.conditions.sorted().map { .string($0) }),
      "documents": .count(statistics.documentCount), "commit": .count(statistics.sequence),
      "fileBytes": .count(statistics.fileBytes), "waitingWriters": .count(statistics.waitingWriters),
      "clockLeadSeconds": .count(Int(statistics.clockLead / .seconds(1))),
      "failure": statistics.failure.map { .string("\($0)") } ?? .null,
      "peers": .array(report.peers.map { .map($0.values(at: statistics.sequence)) }),
    ]
  }

  /// Explains why a document is or is not at another peer, or has not arrived from there.
  func why(
    _ text: String, in collection: String, _ name: String, isIncoming: Bool
  ) throws -> [TextKey: Value] {
    let peers = database.peerReport.peers
    let peer = try Self.peer(named: name, of: peers)
    let (id, hint) = try database.store.read { try StoreReport.find(text, in: collection, $0) }
    let explanation = try database.explain(id, in: collection, peerID: peer.id, isIncoming: isIncoming)
    guard let explanation else { throw Self.absence(of: name, among: peers.filter { $0.id != peer.id }) }
    var answer: [TextKey: Value] = [
      "text": .string(explanation.text), "isThere": .bool(explanation.isThere),
    ]
    if let hint { answer["hint"] = .string(hint) }
    return answer
  }

  /// Finds a connected peer by its name or its id.
  ///
  /// - Throws: `notFound` with the peers that are present; `argument` for a name that several peers have.
  func peer(named name: String) throws(ControlError) -> ReportedPeer {
    try Self.peer(named: name, of: database.peerReport.peers)
  }

  /// The error for a peer that has gone.
  func absence(of name: String) -> ControlError {
    Self.absence(of: name, among: database.peerReport.peers.filter { $0.id != name && $0.name != name })
  }

  /// Finds a connected peer by its name or its id.
  ///
  /// - Throws: `notFound` with the peers that are present; `argument` for a name that several peers have.
  private static func peer(named name: String, of peers: [ReportedPeer]) throws(ControlError) -> ReportedPeer
  {
    let named = peers.filter { $0.id == name || $0.name == name }
    if let peer = named.first, named.count == 1 { return peer }
    guard named.isEmpty else {
      throw ControlError(
        .argument,
        PlainText.of("\(named.count) peers are called '\(name)', say the id of one: \(list(peers))"))
    }
    throw absence(of: name, among: peers)
  }

  private static func absence(of name: String, among peers: [ReportedPeer]) -> ControlError {
    let others = peers.isEmpty ? ", nor any other" : "; there are \(list(peers))"
    return ControlError(.notFound, PlainText.of("no peer '\(name)' is there\(others)"))
  }

  private static func list(_ peers: [ReportedPeer]) -> String {
    peers.map { "\($0.name) (\($0.id))" }.joined(separator: ", ")
  }
}
