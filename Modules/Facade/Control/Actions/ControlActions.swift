import CRDTCore
import DocStore
import Synchronization

/// What a running peer does for its clients.
struct ControlActions: Sendable {
  /// Sends a part of an answer, as fast as the client reads.
  typealias Send = @Sendable ([TextKey: Value]) async throws -> Void

  let core: Core
  let control: ControlSocket

  /// Does what is asked.
  ///
  /// - Parameters:
  ///   - request: What is asked.
  ///   - documents: What came with it.
  ///   - send: Takes parts of the answer before its end.
  /// - Returns: The end of the answer.
  /// - Throws: `argument` for an unknown action; what the action throws.
  func perform(
    _ request: ControlRequest, _ documents: [Value], _ send: @escaping Send
  ) async throws -> [TextKey: Value] {
    guard core.isOpen else { throw ControlError(.closed, "the database is closed") }
    switch request.action {
    case "query": return try await query(request, send)
    case "watch": return try await watch(request, send)
    case "insert": return try await insert(request, documents)
    case "evict": return try await evict(request)
    case "statistics", "collections", "schema", "inspect":
      return try await besideTasks { check in
        try report(request) { try check(MaintenanceProgress(done: 0, total: 0)) { _ in } }
      }
    case "verify": return try await verify(send)
    case "backup": return try await backup(request, send)
    case "status": return try status()
    case "why": return try why(request)
    case let other: throw ControlError(.argument, "there is no action \"\(other)\"")
    }
  }

  // MARK: - Reading

  /// What commands show of the store.
  ///
  /// - Parameters:
  ///   - request: What is asked.
  ///   - check: Throws when the client wants it no more.
  /// - Returns: The end of the answer.
  /// - Throws: What is wrong with the request, or the store; what `check` throws.
  private func report(_ request: ControlRequest, check: () throws -> Void) throws -> [TextKey: Value] {
    let collection = request.fields.string("collection")
    switch request.action {
    case "collections": return try StoreReport.collections(of: core.store)
    case "schema":
      return try StoreReport.schema(
        of: core.store, collection,
        documents: request.fields.integer("documents") ?? StoreReport.schemaDocuments)
    case "inspect":
      return try StoreReport.inspect(
        core.store, collection, request.fields.string("document"), check: check)
    default: return try StoreReport.statistics(of: core.store)
    }
  }

  // MARK: - Maintenance

  private func verify(_ send: @escaping Send) async throws -> [TextKey: Value] {
    try await reporting(send) { report in
      StoreReport.values(of: try await DunlinStore(core: core).verify(progress: report))
    }
  }

  private func backup(_ request: ControlRequest, _ send: @escaping Send) async throws -> [TextKey: Value] {
    let target = try request.text("target")
    // A path says nothing that is relative to another process's directory.
    guard target.hasPrefix("/") else {
      throw ControlError(.argument, "backup needs the absolute path of a directory as \"target\"")
    }
    return try await reporting(send) { report in
      try await DunlinStore(core: core).backup(to: target, progress: report)
      return ["documents": .count(try core.store.statistics().documentCount)]
    }
  }

  private func evict(_ request: ControlRequest) async throws -> [TextKey: Value] {
    let (collection, text) = (try request.text("collection"), try request.text("document"))
    let id = try DocumentID(written: text)
    let isThere = try await core.store.write { try $0.evict(id, in: collection) }.0
    guard isThere else { throw ControlError(.notFound, "\(collection) has no document \(text)") }
    return [:]
  }

  // MARK: - Progress

  /// Runs `body`, and sends the progress that it reports now and then.
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
    // What it sends stands before the end of the answer.
    _ = await teller.result
    return try result.get()
  }
}

/// The progress that nobody has been told of yet.
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
