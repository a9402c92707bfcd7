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

  /// A write that is durable, by this request or by an earlier one with the same key.
  struct DurableWrite: Sendable {
    /// The commit.
    let sequence: UInt64
    /// Whether an earlier request has made it.
    let isRepeated: Bool
    private let bytes: [UInt8]
    private let transaction: String?
    private let admission: Admission

    fileprivate init(
      _ bytes: [UInt8], _ transaction: String?, _ sequence: UInt64, isRepeated: Bool, _ admission: Admission
    ) {
      self.bytes = bytes
      self.transaction = transaction
      self.sequence = sequence
      self.isRepeated = isRepeated
      self.admission = admission
    }

    /// Makes the response.
    ///
    /// - Parameter members: What is known only after the write; it is not stored with the response.
    /// - Returns: The stored response and the members.
    func response(adding members: [TextKey: Value] = [:]) -> Response {
      var response = Response.json(
        Self.adding(members, to: bytes), headers: Response.jsonHeaders(transaction: transaction), admission)
      if isRepeated { response.headers[.replayed] = "true" }
      return response
    }

    /// Adds members at the end of an object that has others.
    private static func adding(_ members: [TextKey: Value], to bytes: [UInt8]) -> [UInt8] {
      guard !members.isEmpty else { return bytes }
      var all = Array(bytes.dropLast())
      for (key, value) in members.sorted(by: { $0.key < $1.key }) {
        all.append(contentsOf: ",\"\(key.text)\":".utf8)
        JSON.write(value, to: &all)
      }
      all.append(UInt8(ascii: "}"))
      return all
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
    /// - Returns: The write with its response, which is durable with the documents.
    /// - Throws: What `body` throws; `limit` for a response that is too large; `busy` when there is no room
    ///   for it. Then nothing is written.
    func carryOut(
      _ context: StatementContext, rows: TextKey = "items",
      _ body: @escaping @Sendable (WriteTransaction, inout Answer) throws -> [Value]
    ) async throws -> DurableWrite {
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
          let content =
            answer.content.isEmpty
            ? nil
            : IdempotencyKey.Content(
              documents: answer.content.documents, rest: answer.bytesWithoutContent(rows))
          try key?.keep(bytes, content, in: transaction, at: time)
          note.make(transaction.sequence)
          return .done(bytes, answer.transaction)
        }.0
      } onCancel: {
        context.cancel()
      }
      note.confirm()
      switch outcome {
      case .done(let bytes, let token):
        return DurableWrite(bytes, token.description, token.sequence, isRepeated: false, admission)
      case .replayed(let bytes):
        try await admission.waitToReserveAnswer(bytes.count)
        let transaction = Self.transaction(in: bytes)
        let token = transaction.flatMap { TransactionToken($0) } ?? admission.application.transactions.newest
        return DurableWrite(bytes, transaction, token.sequence, isRepeated: true, admission)
      }
    }

    /// The transaction of a stored response.
    private static func transaction(in answer: [UInt8]) -> String? {
      guard case .map(let fields)? = try? JSON.parse(answer) else { return nil }
      return fields["transactionId"]?.stringValue
    }
  }
#endif
