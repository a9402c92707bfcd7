import QueryEngine
public import Dispatch

/// The documents that a query finds, before an operation on them is chosen.
public struct DunlinPendingCursorOperation: Sendable {
  let finding: Finding
  let local: LocalDatabase

  init(_ finding: Finding, _ local: LocalDatabase) {
    self.finding = finding
    self.local = local
  }

  /// Orders the documents by the value at a path.
  ///
  /// A further sort orders documents that are equal by the first.
  public func sort(
    _ path: String, direction: DunlinSortDirection = .ascending
  ) -> DunlinPendingCursorOperation {
    DunlinPendingCursorOperation(finding.sorted(path, direction), local)
  }

  /// Takes at most this many documents.
  public func limit(_ count: Int) -> DunlinPendingCursorOperation {
    DunlinPendingCursorOperation(finding.limited(count), local)
  }

  /// Skips this many documents first.
  public func offset(_ count: Int) -> DunlinPendingCursorOperation {
    DunlinPendingCursorOperation(finding.skipping(count), local)
  }

  /// Reads the documents.
  ///
  /// - Throws: `syntax`, `argument` and the other codes of queries; `closed`, `io`.
  public func exec() throws -> [DunlinDocument] {
    try local.engine.answer(.select(finding.select()), finding.arguments).documents()
  }

  /// Lets `body` edit the documents, and writes its edits as one transaction.
  ///
  /// - Returns: The edits and their paths, for each document that was edited.
  /// - Throws: What `body` throws; the codes of queries; `notACounter`, `isACounter`, `unsupportedValue`,
  ///   `invalidPath`, `nestedWriteTransaction`, `wouldBlock`, `full`, `io`, `closed`. Then nothing is
  ///   written.
  @discardableResult
  public func update(
    _ body: ([DunlinMutableDocument]) throws -> Void
  ) throws -> [DunlinDocumentID: [DunlinUpdateResult]] {
    try local.write(finding.collection, as: "update") { try $0.update($0.documents(finding), body) }
  }

  /// Lets `body` edit the documents, and writes its edits as one transaction, without blocking a thread.
  ///
  /// `body` runs on the database's own thread.
  /// - Returns: The edits and their paths, for each document that was edited.
  /// - Throws: The same as the form that blocks, without `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func update(
    _ body: sending @escaping ([DunlinMutableDocument]) throws -> Void
  ) async throws -> [DunlinDocumentID: [DunlinUpdateResult]] {
    let finding = finding
    return try await local.write(finding.collection) { try $0.update($0.documents(finding), body) }
  }

  /// Lets a `body` that does not throw edit the documents, and writes its edits as one transaction.
  ///
  /// This form does not throw: it logs a failure, passes it to the configuration's failure handler, and
  /// writes nothing. For a `body` that throws, the compiler chooses the form that throws.
  @discardableResult
  public func update(
    _ body: ([DunlinMutableDocument]) -> Void
  ) -> [DunlinDocumentID: [DunlinUpdateResult]] {
    local.reporter.orReport("update", [:]) {
      try local.write(finding.collection, as: "update") { try $0.update($0.documents(finding), body) }
    }
  }

  /// Lets a `body` that does not throw edit the documents, without blocking a thread.
  ///
  /// This form does not throw: it logs a failure, passes it to the configuration's failure handler, and
  /// writes nothing. For a `body` that throws, the compiler chooses the form that throws.
  @discardableResult
  public func update(
    _ body: sending @escaping ([DunlinMutableDocument]) -> Void
  ) async -> [DunlinDocumentID: [DunlinUpdateResult]] {
    let (local, finding) = (local, finding)
    do {
      return try await local.write(finding.collection) { try $0.update($0.documents(finding), body) }
    } catch {
      local.reporter.fail("update", error)
      return [:]
    }
  }

  /// Deletes the documents, on this device and at every peer that syncs them.
  ///
  /// - Returns: Their ids.
  /// - Throws: The codes of queries; `nestedWriteTransaction`, `wouldBlock`, `full`, `io`, `closed`.
  @discardableResult
  public func remove() throws -> [DunlinDocumentID] {
    try local.write(finding.collection, as: "remove") { try $0.remove(finding) }
  }

  /// Deletes the documents, on this device and at every peer that syncs them, without blocking a thread.
  ///
  /// - Returns: Their ids.
  /// - Throws: The same as the form that blocks, without `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func remove() async throws -> [DunlinDocumentID] {
    let finding = finding
    return try await local.write(finding.collection) { try $0.remove(finding) }
  }

  /// Evicts the documents from this device only; they come back if a subscription matches them.
  ///
  /// This form does not throw: it logs a failure, passes it to the configuration's failure handler, and
  /// evicts nothing.
  /// - Returns: Their ids.
  @discardableResult
  public func evict() -> [DunlinDocumentID] {
    local.reporter.orReport("evict", []) {
      try local.write(finding.collection, as: "evict") { try $0.evict(finding) }
    }
  }

  /// Evicts the documents from this device only, without blocking a thread.
  ///
  /// This form does not throw: it logs a failure, passes it to the configuration's failure handler, and
  /// evicts nothing.
  /// - Returns: Their ids.
  @discardableResult
  public func evict() async -> [DunlinDocumentID] {
    let (local, finding) = (local, finding)
    do {
      return try await local.write(finding.collection) { try $0.evict(finding) }
    } catch {
      local.reporter.fail("evict", error)
      return []
    }
  }

  /// Pulls the documents from every peer, now and later, until the subscription is cancelled.
  ///
  /// Sort, limit and offset do not apply to a subscription. An invalid query is logged and passed to the
  /// configuration's failure handler; the returned subscription is then already cancelled.
  /// - Parameter onLeave: What happens to a local document that no longer matches.
  /// - Returns: The subscription. Keep it, and cancel it before you release it.
  public func subscribe(onLeave: DunlinLeavePolicy = .keep) -> DunlinSubscription {
    local.reporter.orReport("subscribe", DunlinSubscription.none(text: finding.text)) {
      try translatingErrors {
        try finding.checked()
        return try local.subscriptions.register(
          SubscriptionQuery(
            collection: finding.collection, builder: finding.text, arguments: finding.arguments),
          onLeave: onLeave)
      }
    }
  }

  /// Calls `handler` with the documents now, and again whenever a local write or sync changes them.
  ///
  /// - Parameters:
  ///   - deliverOn: The queue on which the handler is called. The default is a serial queue that all
  ///     observers of a database share; it is not the main queue.
  ///   - handler: Gets all documents, and the changes.
  /// - Returns: The live query. Keep it, and stop it before you release it.
  public func observeLocal(
    deliverOn: DispatchQueue? = nil,
    _ handler: @escaping @Sendable (_ docs: [DunlinDocument], _ event: DunlinLiveQueryEvent) -> Void
  ) -> DunlinLiveQuery {
    observe(deliverOn) { docs, event, next in
      handler(docs, event)
      next()
    }
  }

  /// Does the same as `observeLocal`, but delays the next call until the handler calls `signalNext`.
  ///
  /// Changes that happen meanwhile are combined.
  public func observeLocalWithNextSignal(
    deliverOn: DispatchQueue? = nil,
    _ handler:
      @escaping @Sendable (
        _ docs: [DunlinDocument], _ event: DunlinLiveQueryEvent, _ signalNext: @escaping DunlinSignalNext
      ) -> Void
  ) -> DunlinLiveQuery { observe(deliverOn, handler) }

  private func observe(
    _ queue: DispatchQueue?,
    _ handler:
      @escaping @Sendable ([DunlinDocument], DunlinLiveQueryEvent, @escaping DunlinSignalNext) -> Void
  ) -> DunlinLiveQuery {
    local.reporter.orReport("observeLocal", DunlinLiveQuery(nil, what: finding.text, local.reporter)) {
      let observation = try local.observers.observe(
        .select(finding.select()), finding.arguments, on: queue
      ) { delivery, next in
        handler(delivery.documents, delivery.event, next)
      }
      return DunlinLiveQuery(observation, what: finding.text, local.reporter)
    }
  }
}

extension Reporter {
  /// Returns what `body` returns; reports an error of `body` and returns `fallback`.
  func orReport<R>(_ operation: String, _ fallback: @autoclosure () -> R, _ body: () throws -> R) -> R {
    do {
      return try body()
    } catch {
      fail(operation, error)
      return fallback()
    }
  }
}
