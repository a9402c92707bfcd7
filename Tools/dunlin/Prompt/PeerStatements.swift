import CRDTCore
import DunlinControl
import Facade
import PeerControl

/// Has statements run by the peer that has the store open, or by another one that is connected to it.
final class PeerStatements: StatementSource {
  private let peer: RunningPeer
  let remotePeer: String?

  /// - Parameters:
  ///   - peer: The peer that has the store open.
  ///   - remotePeer: The name or the id of a connected peer that runs the statements on its own data.
  init(_ peer: RunningPeer, at remotePeer: String? = nil) {
    (self.peer, self.remotePeer) = (peer, remotePeer)
  }

  func cancel() { peer.cancel() }

  func run(
    _ text: String, _ arguments: [TextKey: Value], _ take: (StatementEvent) throws -> Void
  ) throws -> StatementOutcome {
    let bar = IndexProgressBar()
    defer { bar.finish() }
    var fields: [TextKey: Value] = ["query": .string(text), "arguments": .map(arguments)]
    if let remotePeer { fields["peer"] = .string(remotePeer) }
    let result = try peer.ask(remotePeer == nil ? "query" : "ask", fields) { part in
      part.passProgress { bar.update($0, of: $1) }
      try Self.pass(part, to: take)
    }
    return StatementOutcome(
      rows: result.integer("rows") ?? 0, changed: result.integer("changed") ?? 0,
      hints: result.strings("hints"))
  }

  func watch(
    _ text: String, _ arguments: [TextKey: Value], limit: Int, _ take: (StatementEvent) throws -> Void
  ) throws {
    guard remotePeer == nil else { throw ToolError("only the store's own queries can be watched") }
    do {
      try peer.ask(
        "watch", ["query": .string(text), "arguments": .map(arguments), "limit": .count(limit)]
      ) { try Self.pass($0, to: take) }
    } catch let error as ControlError where error.code == .cancelled {
      return
    }
  }

  private static func pass(
    _ part: [TextKey: Value], to take: (StatementEvent) throws -> Void
  ) throws {
    if let columns = part["columns"] {
      let names = part.elements("columns").map { _ in part.strings("columns").map { TextKey($0) } }
      try take(.columns(columns == .null ? nil : names))
    }
    for row in part.objects("rows") { try take(.row(row)) }
    if let state = part.members("state") { try take(.state(rows: state.integer("rows") ?? 0)) }
  }

  func collections() throws -> [TextKey: Value] { try peer.ask("collections") }

  func schema(of collection: String?, documents: Int) throws -> [TextKey: Value] {
    try peer.ask(
      "schema",
      ["collection": collection.map { .string($0) } ?? .null, "documents": .count(documents)])
  }
}
