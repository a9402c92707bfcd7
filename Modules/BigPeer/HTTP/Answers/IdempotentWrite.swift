#if Server
  import Facade
  import CRDTCore
  import DocStore
  import Hummingbird
  import QueryEngine

  extension HostedApplication {
    /// Refuses a write that leaves a document too large to be sent, if the configuration says so.
    ///
    /// - Throws: `tooLarge` with the document, its size and the limit.
    fileprivate func checkSizes(_ transaction: WriteTransaction) throws(Problem) {
      guard configuration.limits.refusesOversize, let document = transaction.oversizeDocuments.first
      else { return }
      let limit = parts.store.hardDocumentBytes
      throw Problem(
        .unprocessableContent, "tooLarge",
        "the document \(JSON.text(of: document.id.value)) of the collection \(document.collection) would take \(document.byteCount) bytes, and at most \(limit) are sent to a device that has nothing of it: nothing was written",
        members: [
          "collection": .string(document.collection), "id": document.id.value,
          "bytes": .count(document.byteCount), "limit": .count(limit),
        ])
    }
  }

  /// A write of one request: its documents and its stored response, in one transaction.
  ///
  /// The response is stored if the client has given a key.
  struct IdempotentWrite: Sendable {
    private enum Outcome: Sendable {
      case done([UInt8], TransactionToken)
      case replayed([UInt8])
    }

    private let admission: Admission
    private let key: IdempotencyKey?
    private let now: @Sendable () -> Int64

    init(_ admission: Admission, _ key: IdempotencyKey?, _ now: @escaping @Sendable () -> Int64) {
      self.admission = admission
      self.key = key
      self.now = now
    }

    /// Writes, unless the write was done before; the response belongs to the same transaction either way.
    ///
    /// - Parameters:
    ///   - context: Is cancelled together with the task; a statement that has not begun to write then ends.
    ///   - rows: The name of the response's rows.
    ///   - body: Writes, and completes the response; returns its rows.
    /// - Returns: The response, which is durable with the documents.
    /// - Throws: What `body` throws; `limit` for a response that is too large; `busy` when there is no room
    ///   for it. Then nothing is written.
    func carryOut(
      _ context: StatementContext, rows: TextKey = "items",
      _ body: @escaping @Sendable (WriteTransaction, inout Answer) throws -> [Value]
    ) async throws -> Response {
      let (admission, key, now) = (admission, key, now)
      let note = CommitNote(RequestTrace.current?.context, admission.application.feed.traces)
      defer { note.end() }
      let outcome = try await withTaskCancellationHandler {
        try await admission.application.parts.store.write(hint: "HTTP") { transaction -> Outcome in
          let time = now()
          if let known = try key?.answer(in: transaction, at: time) { return .replayed(known) }
          var answer = Answer(
            transaction: admission.application.transactions.token(transaction.sequence), queryType: .mutation)
          let values = try body(transaction, &answer)
          try admission.application.checkSizes(transaction)
          answer.warnings += transaction.oversizeDocuments.map { document in
            "the document \(JSON.text(of: document.id.value)) of the collection \(document.collection) takes \(document.byteCount) bytes, which is too large to be sent to a peer that has nothing of it; a peer that has it gets its changes"
          }
          answer.transaction = admission.application.transactions.token(transaction.sequence)
          let bytes = answer.bytes(rows, values)
          guard bytes.count <= admission.limits.answerBytes else {
            throw Problem.answerTooLarge(admission.limits)
          }
          // Without room for the response the write fails as a whole.
          try admission.reserveAnswer(bytes.count)
          try key?.keep(bytes, in: transaction, at: time)
          note.make(transaction.sequence)
          return .done(bytes, answer.transaction)
        }.0
      } onCancel: {
        context.cancel()
      }
      note.confirm()
      switch outcome {
      case .done(let bytes, let token):
        return .json(bytes, headers: Response.jsonHeaders(transaction: token.description), admission)
      case .replayed(let bytes):
        try await admission.waitToReserveAnswer(bytes.count)
        let headers = Response.jsonHeaders(transaction: Self.transaction(in: bytes))
        var response = Response.json(bytes, headers: headers, admission)
        response.headers[.replayed] = "true"
        return response
      }
    }

    /// The transaction of a stored response.
    private static func transaction(in answer: [UInt8]) -> String? {
      guard case .map(let fields)? = try? JSON.parse(answer) else { return nil }
      return fields["transactionId"]?.stringValue
    }
  }
#endif
