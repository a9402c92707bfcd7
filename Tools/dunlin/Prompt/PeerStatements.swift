import CRDTCore
import DunlinControl
import Facade

/// Has statements run by the peer that has the store open.
final class PeerStatements: StatementSource {
  private let peer: RunningPeer

  init(_ peer: RunningPeer) { self.peer = peer }

  func cancel() { peer.cancel() }

  func run(
    _ text: String, _ arguments: [TextKey: Value], _ take: (StatementEvent) throws -> Void
  ) throws -> StatementOutcome {
    let bar = IndexProgressBar()
    defer { bar.finish() }
    let result = try peer.ask("query", ["query": .string(text), "arguments": .map(arguments)]) { part in
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
