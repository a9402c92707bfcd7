import CRDTCore
import DocStore
import DunlinControl
import Facade
import Foundation
import PeerControl
import QueryEngine
import SyncProtocol
import Synchronization
import Transports

/// Steers a peer by JSON lines on standard input, for programs that run several: the demo above all.
///
/// A request is `{"id": n, "do": action, …}`; its answer bears the same id, and `error` when it failed.
/// Lines without an id are events. The peer ends when standard input does.
final class ControlServer: Sendable {
  private let dunlin: Dunlin
  private let state = Mutex(State())

  private struct State {
    var subscriptions: [(query: String, subscription: DunlinSubscription)] = []
    var observers: [DunlinLiveQuery] = []
    var watchers: [CommitListener] = []
  }

  init(_ dunlin: Dunlin) { self.dunlin = dunlin }

  func run() async throws {
    signal(SIGINT, SIG_IGN)
    for await line in Self.lines() {
      guard case .map(let request)? = try? JSON.parse(line, options: .init(interpretsTags: true)) else {
        continue
      }
      var answer: [TextKey: Value]
      do {
        answer = try await perform(request)
      } catch {
        answer = ["error": .string("\(error)")]
      }
      answer["id"] = request["id"] ?? .null
      Self.send(answer)
    }
    try dunlin.close()
  }

  /// Standard input's lines, read on a thread of their own.
  private static func lines() -> AsyncStream<[UInt8]> {
    let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
    Thread.detachNewThread {
      while let line = readLine() { continuation.yield(Array(line.utf8)) }
      continuation.finish()
    }
    return stream
  }

  private static let output = Mutex(())

  private static func send(_ message: [TextKey: Value]) {
    var line: [UInt8] = []
    JSON.write(.map(message), to: &line, options: .init(isLossless: true))
    line.append(0x0A)
    output.withLock { _ in try? FileHandle.standardOutput.write(contentsOf: Data(line)) }
  }

  private func perform(_ request: [TextKey: Value]) async throws -> [TextKey: Value] {
    guard case .string(let action)? = request["do"] else { throw ToolError("a request has no action") }
    switch action {
    case "execute":
      let result = try await dunlin.store.execute(
        query: request.text("query"), arguments: request.arguments)
      return [
        "rows": .array(
          try result.items.map { try JSON.parse($0.jsonString(), options: .init(interpretsTags: true)) })
      ]
    case "transaction":
      let statements = request.list("statements")
      try await dunlin.store.transaction { transaction in
        for statement in statements {
          _ = try await transaction.execute(
            query: statement.text("query"), arguments: statement.arguments)
        }
      }
      return [:]
    case "import": return try await importLines(request)
    case "subscribe":
      let subscription = try dunlin.sync.registerSubscription(
        query: request.text("query"), arguments: request.arguments)
      state.withLock { $0.subscriptions.append((request.text("query"), subscription)) }
      return [:]
    case "unsubscribe":
      let query = request.text("query")
      let ended = state.withLock { state in
        defer { state.subscriptions.removeAll { $0.query == query } }
        return state.subscriptions.filter { $0.query == query }
      }
      for (_, subscription) in ended { subscription.cancel() }
      return [:]
    case "observe": return try observe(request)
    case "watch": return watch(request)
    case "start":
      try dunlin.startSync()
      return ["ports": .array(dunlin.listeningPorts.map { .int(Int64($0)) })]
    case "stop":
      dunlin.stopSync()
      return [:]
    case "listen":
      try dunlin.listen(host: "127.0.0.1", port: 0)
      return [:]
    case "discover":
      try dunlin.updateTransportConfig { $0.peerToPeer.lan.isEnabled = true }
      return [:]
    case "connect":
      dunlin.connect(host: "127.0.0.1", port: request.number("port"))
      return [:]
    case "disconnect":
      dunlin.disconnect(host: "127.0.0.1", port: request.number("port"))
      return [:]
    case "figures": return try figures()
    case "counts": return try counts()
    case "digest": return try digest(request)
    case "traffic": return traffic()
    case "oversize": return try oversize()
    default: throw ToolError("unknown action \(action)")
    }
  }

  private func importLines(_ request: [TextKey: Value]) async throws -> [TextKey: Value] {
    var last = ContinuousClock.now
    let store = dunlin.parts.store
    let importer = Importer(open: { StoreSink(store: store) }, collection: request.text("collection"))
    let outcome = try await importer.run(path: request.text("file")) { count, _ in
      guard ContinuousClock.now - last > .milliseconds(80) else { return }
      last = .now
      Self.send(["event": .string("progress"), "count": .int(Int64(count))])
    }
    return ["count": .int(Int64(outcome.written))]
  }

  /// Observes a query of the builder language and reports its diffs by document id.
  private func observe(_ request: [TextKey: Value]) throws -> [TextKey: Value] {
    let name = request["name"] ?? .null
    let pending = dunlin.store.collection(request.text("collection")).find(request.text("query"))
    let query = pending.observeLocal { documents, event in
      var message: [TextKey: Value] = ["event": .string("diff"), "name": name]
      switch event {
      case .initial: message["initial"] = .int(Int64(documents.count))
      case .update(let update):
        func ids(_ indexes: [Int], of documents: [DunlinDocument]) -> Value {
          .array(indexes.map { .string(documents[$0].id.stringValue) })
        }
        message["insertions"] = ids(update.insertions, of: documents)
        message["deletions"] = ids(update.deletions, of: update.oldDocuments)
        message["updates"] = ids(update.updates, of: documents)
      }
      Self.send(message)
    }
    state.withLock { $0.observers.append(query) }
    return [:]
  }

  /// Tells after every commit which of several documents are there, so that a torn transaction shows.
  private func watch(_ request: [TextKey: Value]) -> [TextKey: Value] {
    let store = dunlin.parts.store
    let documents = request.list("documents").map { ($0.text("collection"), $0["_id"] ?? .null) }
    let listener = store.onCommit { _ in
      let seen = try? store.read { transaction in
        try documents.map { name, id in
          guard let collection = try transaction.collection(name) else { return false }
          return try transaction.record(collection, DocumentID(id))?.withView { $0.isAlive } ?? false
        }
      }
      Self.send(["event": .string("seen"), "documents": .array((seen ?? []).map { .bool($0) })])
    }
    state.withLock { $0.watchers.append(listener) }
    return [:]
  }

  private func figures() throws -> [TextKey: Value] {
    try dunlin.parts.store.read { transaction in
      var answer: [TextKey: Value] = [:]
      for info in try transaction.collections() {
        let figures = try CollectionFigures(info.name, in: transaction)
        answer[info.name] = .map([
          "documents": .int(Int64(figures.documents)), "digest": .string(figures.digest),
        ])
      }
      return ["collections": .map(answer)]
    }
  }

  private func counts() throws -> [TextKey: Value] {
    try dunlin.parts.store.read { transaction in
      [
        "collections": .map(
          try transaction.collections().reduce(into: [:]) { $0[$1.name] = .int(Int64($1.documentCount)) })
      ]
    }
  }

  /// The digest of a query's result, to compare what two peers hold of it.
  private func digest(_ request: [TextKey: Value]) throws -> [TextKey: Value] {
    let matcher = try RecordMatcher(Builder.parse(request.text("query")))
    return try dunlin.parts.store.read { transaction in
      let figures = try CollectionFigures(request.text("collection"), in: transaction, matching: matcher)
      return ["documents": .int(Int64(figures.documents)), "digest": .string(figures.digest)]
    }
  }

  private func traffic() -> [TextKey: Value] {
    let connections = dunlin.parts.network.connections
    return [
      "connections": .int(Int64(connections.filter { $0.peer != nil }.count)),
      "caughtUp": .bool(!connections.isEmpty && connections.allSatisfy { $0.caughtUp > 0 }),
      "sent": .int(Int64(connections.reduce(0) { $0 + $1.statistics.bytesSent })),
      "received": .int(Int64(connections.reduce(0) { $0 + $1.statistics.bytesReceived })),
      "plainSent": .int(Int64(connections.reduce(0) { $0 + $1.statistics.plainBytesSent })),
      "plainReceived": .int(Int64(connections.reduce(0) { $0 + $1.statistics.plainBytesReceived })),
      "documentsReceived": .int(Int64(connections.reduce(0) { $0 + $1.statistics.documentsReceived })),
    ]
  }

  private func oversize() throws -> [TextKey: Value] {
    let documents = try dunlin.parts.store.read { try $0.oversizeDocuments() }
    return [
      "documents": .array(
        documents.map {
          .map(["collection": .string($0.collection), "_id": $0.id.value, "bytes": .int(Int64($0.byteCount))])
        })
    ]
  }
}

extension [TextKey: Value] {
  /// A statement's arguments.
  fileprivate var arguments: [String: Any?] {
    [String: Any?](fields("arguments").map { ($0.key.text, $0.value.native) }) { first, _ in first }
  }
}

extension Value {
  /// The value as an application would hand it over.
  var native: Any? {
    switch self {
    case .null: nil
    case .bool(let value): value
    case .int(let value), .counter(let value): Int(value)
    case .double(let value): value
    case .string(let value): value
    case .bytes(let value): Data(value)
    case .array(let values): values.map(\.native)
    case .map(let fields): fields.mapValues(\.native)
    case .decimal(let value): value.text
    case .attachment: nil
    }
  }
}
