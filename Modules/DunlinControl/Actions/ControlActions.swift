import CRDTCore
import DocStore
import Synchronization

/// Performs the requests of a running peer's control clients.
struct ControlActions: Sendable {
  /// Sends a part of an answer, as fast as the client reads.
  typealias Send = @Sendable ([TextKey: Value]) async throws -> Void

  let database: any ControlledDatabase
  let control: ControlSocket

  /// Performs a request.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - documents: The documents that came with it.
  ///   - send: Sends parts of the answer before its end.
  /// - Returns: The end of the answer.
  /// - Throws: What the action throws.
  func perform(
    _ request: ControlRequest, _ documents: [Value], _ send: @escaping Send
  ) async throws -> [TextKey: Value] {
    guard database.isOpen else { throw ControlError(.closed, "the database is closed") }
    let store = database.store
    switch request.action {
    case .query(let text, let arguments): return try await query(text, arguments, send)
    case .ask(let text, let arguments, let peer): return try await ask(text, arguments, of: peer, send)
    case .watch(let text, let arguments, let limit):
      return try await watch(text, arguments, limit: limit, send)
    case .insert(let collection, let strategy):
      return try await insert(documents, into: collection, strategy)
    case .evict(let collection, let document): return try await evict(document, in: collection)
    case .erase(let collection, let documents): return try await erase(documents, in: collection)
    case .statistics: return try await database.runBlocking { _ in try StoreReport.statistics(of: store) }
    case .collections: return try await database.runBlocking { _ in try StoreReport.collections(of: store) }
    case .schema(let collection, let documents):
      let count = documents ?? StoreReport.schemaDocuments
      return try await database.runBlocking { _ in
        try StoreReport.schema(of: store, collection, documents: count)
      }
    case .inspect(let collection, let document):
      return try await database.runBlocking {
        try StoreReport.inspect(store, collection, document, check: $0)
      }
    case .verify: return try await verify(send)
    case .backup(let target): return try await backup(to: target, send)
    case .addBackup(let series, let asBase): return try await addBackup(to: series, asBase: asBase, send)
    case .status: return try status()
    case .clock(let isTrusted):
      return try await database.runBlocking { _ in try StoreReport.clock(of: store, isTrusted: isTrusted) }
    case .why(let collection, let document, let peer, let isIncoming):
      return try why(document, in: collection, peer, isIncoming: isIncoming)
    }
  }

  // MARK: - Maintenance

  private func verify(_ send: @escaping Send) async throws -> [TextKey: Value] {
    try await reporting(send) { report in
      StoreReport.values(of: try await database.verify(progress: report))
    }
  }

  private func backup(to target: String, _ send: @escaping Send) async throws -> [TextKey: Value] {
    // A path that is relative to another process's directory has no meaning here.
    guard target.hasPrefix("/") else {
      throw ControlError(.argument, "backup needs the absolute path of a directory as \"target\"")
    }
    return try await reporting(send) { report in
      try await database.backup(to: target, progress: report)
      return ["documents": .count(try database.store.statistics().documentCount)]
    }
  }

  private func addBackup(to series: String, asBase: Bool, _ send: @escaping Send) async throws
    -> [TextKey: Value]
  {
    guard series.hasPrefix("/") else {
      throw ControlError(.argument, "addBackup needs the absolute path of a directory as \"series\"")
    }
    return try await reporting(send) { report in
      try await database.runBlocking { [database] check in
        try withoutActuallyEscaping(check) { check in
          try database.store.backup(toSeries: series, asBase: asBase, carrying: database.carriedFiles) {
            try check()
            report($0)
          }.values
        }
      }
    }
  }

  private func evict(_ text: String, in collection: String) async throws -> [TextKey: Value] {
    let id = try DocumentID(written: text)
    let isThere = try await database.store.write { try $0.evict(id, in: collection) }.0
    guard isThere else {
      throw try database.store.read { StoreReport.absence(of: text, in: collection, $0) }
    }
    return [:]
  }

  private func erase(_ texts: [String], in collection: String) async throws -> [TextKey: Value] {
    let ids = try database.store.read { try StoreReport.erasable(texts, in: collection, $0) }
    return try await database.store.write { try StoreReport.erase(ids, in: collection, $0) }.0
  }

  // MARK: - Progress

  /// Runs `body`, and sends the progress that it reports from time to time.
  func reporting<R: Sendable>(
    _ send: @escaping Send,
    _ body: (@escaping @Sendable (MaintenanceProgress) -> Void) async throws -> R
  ) async throws -> R {
    let newest = NewestProgress()
    let teller = Task {
      while true {
        try await Task.sleep(for: ControlProtocol.progressInterval)
        guard let progress = newest.take() else { continue }
        try await send([
          "progress": .map(["done": .count(progress.done), "total": .count(progress.total)])
        ])
      }
    }
    let result: Result<R, any Error>
    do { result = .success(try await body { newest.put($0) }) } catch { result = .failure(error) }
    teller.cancel()
    // The progress must be sent before the end of the answer.
    _ = await teller.result
    return try result.get()
  }
}

/// The latest progress that has not been sent yet.
private final class NewestProgress: Sendable {
  private let progress = Mutex<MaintenanceProgress?>(nil)

  func put(_ new: MaintenanceProgress) { progress.withLock { $0 = new } }

  func take() -> MaintenanceProgress? {
    progress.withLock { progress in
      defer { progress = nil }
      return progress
    }
  }
}
