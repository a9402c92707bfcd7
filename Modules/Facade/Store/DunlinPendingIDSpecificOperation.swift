import CRDTCore
public import Dispatch
import DocStore
import QueryEngine

/// One document by its id, before an operation on it is chosen.
public struct DunlinPendingIDSpecificOperation: Sendable {
  private let id: DunlinDocumentID
  private let collection: String
  private let local: LocalDatabase

  init(id: DunlinDocumentID, collection: String, local: LocalDatabase) {
    self.id = id
    self.collection = collection
    self.local = local
  }

  /// Reads the document.
  ///
  /// - Returns: The document; `nil` when there is none.
  /// - Throws: `invalidDocumentID`, `closed`, `io`, `corrupt`.
  public func exec() throws -> DunlinDocument? {
    try translatingErrors {
      let id = try id.checked()
      return try local.store.read { try local.document(id, in: collection, $0) }
    }
  }

  /// Lets `body` edit the document, and writes its edits; `body` gets `nil` when there is no document.
  ///
  /// - Returns: The edits and their paths.
  /// - Throws: What `body` throws; `notACounter`, `isACounter`, `unsupportedValue`, `invalidPath`,
  ///   `nestedWriteTransaction`, `wouldBlock`, `full`, `io`, `closed`. Then nothing is written.
  @discardableResult
  public func update(_ body: (DunlinMutableDocument?) throws -> Void) throws -> [DunlinUpdateResult] {
    try local.write(collection, as: "update") { try $0.update(id.checked(), body) }
  }

  /// Lets `body` edit the document, and writes its edits, without blocking a thread.
  ///
  /// `body` runs on the database's own thread; it gets `nil` when there is no such document.
  /// - Returns: The edits and their paths.
  /// - Throws: The same as the form that blocks, without `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func update(
    _ body: sending @escaping (DunlinMutableDocument?) throws -> Void
  ) async throws -> [DunlinUpdateResult] {
    let id = id
    return try await local.write(collection) { try $0.update(id.checked(), body) }
  }

  /// Lets a `body` that does not throw edit the document, and writes its edits.
  ///
  /// This form does not throw: it logs a failure, passes it to the configuration's failure handler, and
  /// writes nothing. For a `body` that throws, the compiler chooses the form that throws.
  @discardableResult
  public func update(_ body: (DunlinMutableDocument?) -> Void) -> [DunlinUpdateResult] {
    local.reporter.orReport("update", []) {
      try local.write(collection, as: "update") { try $0.update(id.checked(), body) }
    }
  }

  /// Lets a `body` that does not throw edit the document, without blocking a thread.
  ///
  /// This form does not throw: it logs a failure, passes it to the configuration's failure handler, and
  /// writes nothing. For a `body` that throws, the compiler chooses the form that throws.
  @discardableResult
  public func update(
    _ body: sending @escaping (DunlinMutableDocument?) -> Void
  ) async -> [DunlinUpdateResult] {
    let (local, collection, id) = (local, collection, id)
    do {
      return try await local.write(collection) { try $0.update(id.checked(), body) }
    } catch {
      local.reporter.fail("update", error)
      return []
    }
  }

  /// Deletes the document, on this device and at every peer that syncs it.
  ///
  /// - Returns: Whether there was such a document.
  /// - Throws: `invalidDocumentID`, `nestedWriteTransaction`, `wouldBlock`, `full`, `io`, `closed`.
  @discardableResult
  public func remove() throws -> Bool {
    try local.write(collection, as: "remove") { try $0.remove(id.checked()) }
  }

  /// Deletes the document, on this device and at every peer that syncs it, without blocking a thread.
  ///
  /// - Returns: Whether there was such a document.
  /// - Throws: The same as the form that blocks, without `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func remove() async throws -> Bool {
    let id = id
    return try await local.write(collection) { try $0.remove(id.checked()) }
  }

  /// Evicts the document from this device only; it comes back if a subscription matches it.
  ///
  /// This form does not throw: it logs a failure, passes it to the configuration's failure handler, and
  /// evicts nothing.
  /// - Returns: Whether there was such a document.
  @discardableResult
  public func evict() -> Bool {
    local.reporter.orReport("evict", false) {
      try local.write(collection, as: "evict") { try $0.evict(id.checked()) }
    }
  }

  /// Evicts the document from this device only, without blocking a thread.
  ///
  /// This form does not throw: it logs a failure, passes it to the configuration's failure handler, and
  /// evicts nothing.
  /// - Returns: Whether there was such a document.
  @discardableResult
  public func evict() async -> Bool {
    let (local, collection, id) = (local, collection, id)
    do {
      return try await local.write(collection) { try $0.evict(id.checked()) }
    } catch {
      local.reporter.fail("evict", error)
      return false
    }
  }

  /// Pulls the document from every peer, now and later, until the subscription is cancelled.
  ///
  /// - Returns: The subscription. Keep it, and cancel it before you release it.
  public func subscribe() -> DunlinSubscription {
    local.reporter.orReport("subscribe", DunlinSubscription.none(text: Self.query)) {
      try translatingErrors {
        try local.subscriptions.register(
          SubscriptionQuery(
            collection: collection, builder: Self.query, arguments: ["id": id.checked().value]),
          onLeave: .keep)
      }
    }
  }

  /// Calls `handler` with the document now, and again whenever a local write or sync changes it.
  ///
  /// - Parameters:
  ///   - deliverOn: The queue on which the handler is called. The default is a serial queue that all
  ///     observers of a database share; it is not the main queue.
  ///   - handler: Gets the document, or `nil` when there is none, and the changes.
  /// - Returns: The live query. Keep it, and stop it before you release it.
  public func observeLocal(
    deliverOn: DispatchQueue? = nil,
    _ handler:
      @escaping @Sendable (_ doc: DunlinDocument?, _ event: DunlinSingleDocumentLiveQueryEvent) -> Void
  ) -> DunlinLiveQuery {
    observe(deliverOn) { doc, event, next in
      handler(doc, event)
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
        _ doc: DunlinDocument?, _ event: DunlinSingleDocumentLiveQueryEvent,
        _ signalNext: @escaping DunlinSignalNext
      ) -> Void
  ) -> DunlinLiveQuery { observe(deliverOn, handler) }

  private static let query = "_id == $args.id"

  /// The document as the only one that a query finds.
  ///
  /// - Throws: `invalidDocumentID`.
  func found() throws -> DunlinPendingCursorOperation {
    let id = try translatingErrors { DunlinDocumentID(try self.id.checked()) }
    return DunlinPendingCursorOperation(
      Finding(collection: collection, text: Self.query, arguments: ["id": id]), local)
  }

  private func observe(
    _ queue: DispatchQueue?,
    _ handler:
      @escaping @Sendable (
        DunlinDocument?, DunlinSingleDocumentLiveQueryEvent, @escaping DunlinSignalNext
      ) -> Void
  ) -> DunlinLiveQuery {
    local.reporter.orReport("observeLocal", DunlinLiveQuery(nil, what: Self.query, local.reporter)) {
      let finding = Finding(collection: collection, text: Self.query, arguments: ["id": id])
      let observation = try local.observers.observe(
        .select(finding.select()), finding.arguments, on: queue
      ) { delivery, next in
        let event = DunlinSingleDocumentLiveQueryEvent(
          isInitial: delivery.isInitial, oldDocument: delivery.oldDocuments.first)
        handler(delivery.documents.first, event, next)
      }
      return DunlinLiveQuery(observation, what: "\(collection) by id", local.reporter)
    }
  }
}

extension Operations {
  /// Lets `body` edit one document, then applies the collected edits.
  func update(
    _ id: DocumentID, _ body: (DunlinMutableDocument?) throws -> Void
  ) throws -> [DunlinUpdateResult] {
    guard let document = try document(id) else {
      try body(nil)
      return []
    }
    return try update([document]) { try body($0.first) }[document.id] ?? []
  }
}
