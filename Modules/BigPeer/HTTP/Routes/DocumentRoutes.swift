#if Server
  import CRDTCore
  import DocStore
  import Facade
  import HTTPTypes
  import Hummingbird
  import QueryEngine

  /// The routes `find`, `findbyid` and `count`, in the language of the query builder.
  struct DocumentRoutes: ServerRoute {
    let gate: APIGate

    func add(to router: Router<ServerContext>) {
      router.post("/api/v4/store/find") { request, context in
        try await answer(request, context) { try await find(&$0, $1, context) }
      }
      router.post("/api/v4/store/findbyid") { request, context in
        try await answer(request, context) { try await findByID(&$0, $1) }
      }
      router.post("/api/v4/store/count") { request, context in
        try await answer(request, context) { try await count(&$0, $1) }
      }
    }

    private func answer(
      _ request: Request, _ context: ServerContext,
      _ body: (inout RequestFields, Admission) async throws -> Response
    ) async throws -> Response {
      let admission = try gate.admit(request, context, needing: .read)
      var fields = try RequestFields(try await request.json(admission).value)
      try await admission.application.transactions.satisfy(request.headers)
      do {
        return try await body(&fields, admission)
      } catch {
        throw Problem(any: error)
      }
    }

    private func find(
      _ fields: inout RequestFields, _ admission: Admission, _ context: ServerContext
    ) async throws -> Response {
      var finding = try DocumentQuery(&fields)
      finding.limit = try fields.integer("limit", in: 0...Int(Int32.max))
      finding.offset = try fields.integer("offset", in: 0...Int(Int32.max)) ?? 0
      try finding.readOrder(&fields)
      let isDescribing = try fields.flag("describe") ?? false
      try fields.finish()
      let application = admission.application
      let answer = Answer(transaction: application.transactions.newest)
      let options = JSON.WriteOptions.answer(areCountersTagged: isDescribing)
      let (select, arguments) = (finding.select, finding.arguments)
      try admission.check(.select(select))
      let (reader, share) = try admission.read { statement, share throws(DunlinError) in
        try application.parts.rows.begin(select, arguments, within: statement) { row, _ in
          try share.bytes(of: row, statement) { bytes, limit in
            try Self.writeDocument(row.id, to: &bytes, options) {
              try row.writeJSON(to: &$0, options: options, namesDocument: false, atMost: limit)
            }
          }
        }
      }
      return try await StreamedAnswer("documents", answer, reader, share, admission, context.record)
        .response()
    }

    private func findByID(
      _ fields: inout RequestFields, _ admission: Admission
    ) async throws -> Response {
      let collection = try DocumentQuery.collection(&fields)
      let id = try DocumentQuery.id(&fields)
      let isDescribing = try fields.flag("describe") ?? false
      try fields.finish()
      guard let id else { throw Problem.request("id is missing") }
      try admission.check(.read, in: collection)
      let application = admission.application
      let answer = Answer(transaction: application.transactions.newest)
      let options = JSON.WriteOptions.answer(areCountersTagged: isDescribing)
      let limit = admission.limits.rowBytes
      var bytes = answer.opening("documents")
      try application.parts.store.read { transaction in
        guard let collection = try transaction.collection(collection) else { return }
        _ = try transaction.withRecord(collection, id) { record, _ in
          guard record.isAlive else { return }
          // Besides its fields, a record has what merging needs.
          guard record.byteCount <= limit * 4 else { throw QueryError.rowTooLarge(limit) }
          var fields: [UInt8] = []
          try JSON.write(record, id: nil, keys: collection.keys, to: &fields, options: options)
          guard fields.count <= limit else { throw QueryError.rowTooLarge(limit) }
          Self.writeDocument(id, to: &bytes, options) { $0 += fields }
        }
      }
      bytes.append(contentsOf: answer.closing())
      try await admission.waitToReserveAnswer(bytes.count)
      return .json(
        bytes, headers: Response.jsonHeaders(transaction: answer.transaction.description), admission)
    }

    /// Appends a document in the form that it has in responses.
    private static func writeDocument(
      _ id: DocumentID?, to bytes: inout [UInt8], _ options: JSON.WriteOptions,
      fields: (inout [UInt8]) throws -> Void
    ) rethrows {
      bytes.append(contentsOf: "{\"fields\":".utf8)
      try fields(&bytes)
      bytes.append(contentsOf: ",\"id\":".utf8)
      JSON.write(id?.value ?? .null, to: &bytes, options: options)
      bytes.append(UInt8(ascii: "}"))
    }

    private func count(_ fields: inout RequestFields, _ admission: Admission) async throws -> Response {
      let finding = try DocumentQuery(&fields)
      try fields.finish()
      let application = admission.application
      var answer = Answer(transaction: application.transactions.newest)
      var select = finding.select
      select.projection = .countAll(alias: "count")
      try admission.check(.select(select))
      let (reader, _) = try admission.read { statement, _ throws(DunlinError) in
        try application.parts.rows.begin(select, finding.arguments, within: statement) { row, _ in
          try row.values()["count"] ?? .int(0)
        }
      }
      answer.members = [("count", try await reader.take().first ?? .int(0))]
      return .json(answer.bytesWithoutRows(), transaction: answer.transaction.description)
    }
  }
#endif
