#if Server
  import CRDTCore
  import DocStore
  import Facade
  import QueryEngine

  /// Evicts documents for the administrator, a few in each transaction.
  ///
  /// So it works on a full disk, too: there is room there for small transactions that free space, and for no
  /// others.
  struct StoreEviction: Sendable {
    /// The result.
    struct Outcome: Sendable {
      var evicted = 0
      /// Whether all documents that the statement names are evicted.
      var isComplete = false
    }

    /// Why it ended, and what was evicted before that.
    struct Failure: Error {
      let outcome: Outcome
      let error: any Error
    }

    /// The maximum number of documents that one call evicts.
    static let documentLimit = 100_000
    /// The number of documents in the first transaction, and in the largest one.
    private static let batch = (first: 16, most: 256)
    /// The maximum time of each transaction, and the maximum memory for sorting the documents.
    private static let bounds = (time: Duration.seconds(60), memoryBytes: 64 << 20)

    let collection: String
    private let removal: Removal
    private let arguments: [TextKey: Value]
    private let parts: DunlinParts

    /// Reads the statement.
    ///
    /// - Parameters:
    ///   - statement: `EVICT FROM c WHERE …`, also with ORDER BY and LIMIT.
    ///   - arguments: Its arguments.
    ///   - parts: The database.
    /// - Throws: `request` for another statement; the codes of queries.
    init(_ statement: String, _ arguments: [TextKey: Value], _ parts: DunlinParts) throws {
      guard case .evict(let removal) = try parts.engine.prepare(statement).statement else {
        throw Problem.request("statement must be EVICT FROM collection WHERE …")
      }
      guard removal.returning == nil else {
        throw Problem.request("statement must have no RETURNING: the answer has the number of documents")
      }
      guard try SystemCollection.named(removal.collection) == nil else {
        throw QueryError(.unsupported, "the rows of '\(removal.collection)' are no documents")
      }
      collection = removal.collection
      (self.removal, self.arguments, self.parts) = (removal, arguments, parts)
    }

    /// Evicts the documents.
    ///
    /// - Returns: How many; each transaction is durable.
    /// - Throws: `Failure`, when some may be evicted.
    func carryOut() async throws(Failure) -> Outcome {
      var outcome = Outcome()
      do {
        var ids = try await ids()
        outcome.isComplete = ids.count <= Self.documentLimit
        ids = Array(ids.prefix(Self.documentLimit))
        var (next, count) = (0, Self.batch.first)
        while next < ids.count {
          try Task.checkCancellation()
          let batch = Array(ids[next..<min(next + count, ids.count)])
          do {
            outcome.evicted += try await evict(batch)
          } catch let error where count > 1 && Self.isFull(error) {
            // A smaller transaction needs fewer pages of the reserve.
            count = max(count / 4, 1)
            continue
          }
          next += batch.count
          count = min(count * 2, Self.batch.most)
        }
        return outcome
      } catch {
        outcome.isComplete = false
        throw Failure(outcome: outcome, error: error)
      }
    }

    private static func isFull(_ error: any Error) -> Bool {
      (DunlinError.translating(error) as? DunlinError)?.code == .full
    }

    private func context() -> StatementContext {
      let context = parts.engine.makeContext(
        within: Self.bounds.time, memoryBytes: Self.bounds.memoryBytes)
      context.isAloneInTransaction()
      return context
    }

    /// The ids of the documents, and one more than the limit if there are more.
    ///
    /// They are read before the first is evicted: an open snapshot would keep the pages that come free.
    private func ids() async throws -> [Value] {
      let id = Select.Column(expression: .path([.key("_id")]), name: "_id")
      let select = Select(
        from: removal.target, projection: .columns([id]), predicate: removal.predicate, order: removal.order,
        limit: removal.limit, offset: removal.offset)
      let reader = try parts.rows.begin(select, arguments, within: context()) { row, _ in
        try row.values()["_id"]
      }
      var ids: [Value] = []
      while ids.count <= Self.documentLimit {
        let more = try await reader.take()
        guard !more.isEmpty else { break }
        ids += more
      }
      reader.stop(nil)
      return ids
    }

    /// Evicts those of the documents that the statement still names.
    ///
    /// - Returns: Their number.
    private func evict(_ ids: [Value]) async throws -> Int {
      let among = Expression.in(.path([.key("_id")]), .literal(.array(ids)), negated: false)
      let some = Removal(
        from: removal.target, predicate: removal.predicate.map { .and([among, $0]) } ?? among)
      let (engine, arguments, context) = (parts.engine, arguments, context())
      let result = try await withTaskCancellationHandler {
        try await parts.store.write(hint: "evict") { transaction in
          try engine.execute(.evict(some), arguments: arguments, in: transaction, context: context)
            .mutatedDocumentIDs.count
        }
      } onCancel: {
        context.cancel()
      }
      return result.0
    }
  }
#endif
