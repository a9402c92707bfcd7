#if Server
  import CRDTCore
  import DocStore
  import Facade
  import HTTPTypes
  import Hummingbird
  import QueryEngine

  /// The routes `/api/v4/store/execute` and `/api/v5/store/execute`: one DQL statement.
  ///
  /// Both do the same, because this engine has one dialect.
  struct StatementRoute: ServerRoute {
    let gate: APIGate
    let now: @Sendable () -> Int64

    func add(to router: Router<ServerContext>) {
      for version in ["v4", "v5"] {
        router.post("/api/\(version)/store/execute") { request, context in
          try await execute(request, context)
        }
      }
    }

    private func execute(_ request: Request, _ context: ServerContext) async throws -> Response {
      let admission = try gate.admit(request, context, needing: .read)
      let (body, bytes) = try await request.json(admission)
      var fields = try RequestFields(body)
      let text = try fields.requiredText("statement")
      let arguments = try fields.map("args") ?? [:]
      try fields.finish()
      let key = try IdempotencyKey.read(
        request.headers, of: admission.key.id, path: request.uri.path, body: bytes, within: admission.limits)
      try await admission.application.transactions.satisfy(request.headers)
      let engine = admission.application.parts.engine
      do {
        let prepared = try engine.prepare(text)
        try admission.check(prepared.statement)
        switch prepared.statement.needs {
        case .rows: return try await stream(prepared, arguments, .select, admission, context)
        case .reading: return try await stream(prepared, arguments, .unknown, admission, context)
        case .writing:
          try admission.checkMayWrite()
          return try await write(prepared, arguments, key, admission)
        case .indexing:
          try admission.checkMayWrite()
          guard key == nil else {
            throw Problem.request(
              "the header Idempotency-Key is not for statements on indexes: say IF NOT EXISTS or IF EXISTS")
          }
          return try await index(prepared, arguments, admission)
        case .refused(let reason): throw Problem(.forbidden, "unsupported", reason)
        }
      } catch {
        throw Problem(any: error)
      }
    }

    private func stream(
      _ prepared: PreparedStatement, _ arguments: [TextKey: Value], _ type: Answer.QueryType,
      _ admission: Admission, _ context: ServerContext
    ) async throws -> Response {
      let application = admission.application
      let answer = Answer(transaction: application.transactions.newest, queryType: type)
      let (reader, share) = try admission.read { statement, share throws(DunlinError) in
        try application.parts.rows.begin(prepared, arguments, within: statement, readsAtOnce: true) {
          row, _ in
          try share.bytes(of: row, statement) { bytes, limit in
            try row.writeJSON(to: &bytes, options: .answer(), atMost: limit)
          }
        }
      }
      return try await StreamedAnswer("items", answer, reader, share, admission, context.record).response()
    }

    private func write(
      _ prepared: PreparedStatement, _ arguments: [TextKey: Value], _ key: IdempotencyKey?,
      _ admission: Admission
    ) async throws -> Response {
      let context = admission.statementContext
      let engine = admission.application.parts.engine
      return try await IdempotentWrite(admission, key, now).carryOut(context) { transaction, answer in
        let result = try engine.execute(prepared, arguments: arguments, in: transaction, context: context)
        answer.addMutated(result.mutatedDocumentIDs)
        answer.warnings = result.hints
        if !result.rows.isEmpty {
          answer.content.add(rowsOf: prepared.statement, on: result.mutatedDocumentIDs)
        }
        return try result.rows.map { .map(try $0.values()) }
      }.response()
    }

    private func index(
      _ prepared: PreparedStatement, _ arguments: [TextKey: Value], _ admission: Admission
    ) async throws -> Response {
      let application = admission.application
      let result = try await application.parts.engine.execute(
        prepared, arguments: arguments, within: admission.statementContext)
      var answer = Answer(transaction: application.transactions.newest, queryType: .unknown)
      answer.warnings = result.hints
      return try await .whole(
        answer.bytes("items", result.rows.map { .map(try $0.values()) }), answer, admission)
    }
  }

  extension Admission {
    /// The limits of a statement of this request; the statement ends with the connection.
    var statementContext: StatementContext {
      let context = application.parts.engine.makeContext(
        within: limits.statementTime, memoryBytes: limits.statementBytes)
      context.isAloneInTransaction()
      // A key for some collections must not learn the names of others.
      if key.collections != nil {
        context.restrictHints { [key] in key.covers(.read, in: $0) }
      }
      record.execute(context)
      return context
    }
  }

  extension Response {
    /// A response that is not streamed.
    ///
    /// - Throws: `limit` when it is too large; `busy` when there is no room for it for a while.
    static func whole(
      _ bytes: [UInt8], _ answer: Answer, _ admission: Admission
    ) async throws(Problem) -> Response {
      guard bytes.count <= admission.limits.answerBytes else {
        throw Problem.answerTooLarge(admission.limits)
      }
      try await admission.waitToReserveAnswer(bytes.count)
      return .json(bytes, headers: jsonHeaders(transaction: answer.transaction.description), admission)
    }
  }

  extension Problem {
    static func answerTooLarge(_ limits: HTTPLimits) -> Problem {
      Problem(
        .unprocessableContent, "limit",
        "the answer would have more than \(limits.answerBytes) bytes: ask for parts of it")
    }
  }

  /// How a statement must be executed for a web back end.
  private enum StatementNeeds {
    case rows
    case reading
    case writing
    case indexing
    case refused(String)
  }

  extension Statement {
    fileprivate var needs: StatementNeeds {
      if isQuery { return .rows }
      if isReadOnly { return .reading }
      switch self {
      case .select, .compound, .explain, .show: return .reading
      case .insert, .update, .delete: return .writing
      case .profile(let profiled): return profiled.needsOfProfile
      case .createIndex, .dropIndex, .advise: return .indexing
      case .evict:
        return .refused("EVICT is not for the HTTP API: it would take documents from the server alone")
      case .alterSystem:
        return .refused("ALTER SYSTEM is not for the HTTP API: who runs the server sets system parameters")
      }
    }

    private var needsOfProfile: StatementNeeds {
      switch needs {
      case .rows, .reading: .reading
      case .writing, .indexing, .refused: needs
      }
    }
  }
#endif
