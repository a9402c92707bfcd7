#if Server
  import CRDTCore
  import DocStore
  import Facade
  import Hummingbird
  import Logging
  import QueryEngine

  /// The route `/api/v4/store/write`: upserts, updates, removes and erases documents in one transaction.
  struct WriteRoute: ServerRoute {
    /// The maximum number of commands in one request.
    static let commandLimit = 10_000

    let gate: APIGate
    let now: @Sendable () -> Int64

    func add(to router: Router<ServerContext>) {
      router.post("/api/v4/store/write") { request, context in try await write(request, context) }
    }

    private func write(_ request: Request, _ context: ServerContext) async throws -> Response {
      let admission = try gate.admit(request, context, needing: .write)
      let (body, bytes) = try await request.json(admission)
      var fields = try RequestFields(body)
      let list = try fields.list("commands", count: 1...Self.commandLimit)
      try fields.finish()
      guard let list else { throw Problem.request("commands is missing") }
      let key = try IdempotencyKey.read(
        request.headers, of: admission.key.id, path: request.uri.path, body: bytes, within: admission.limits)
      try await admission.application.transactions.satisfy(request.headers)
      do {
        let commands = try zip(list.indices, list).map { index, command in
          try Self.locating(index) { try WriteCommand(command, at: "commands[\(index)]") }
        }
        for command in commands { try command.check(admission) }
        let statement = admission.statementContext
        let engine = admission.application.parts.engine
        let write = try await IdempotentWrite(admission, key, now).carryOut(statement, rows: "results") {
          transaction, answer in
          try zip(commands.indices, commands).map { index, command in
            try Self.locating(index) {
              let ids = try command.carryOut(in: transaction, engine, statement)
              answer.addMutated(ids)
              return .map([
                "method": .string(command.method.rawValue), "collection": .string(command.collection),
                "mutatedDocumentIds": .array(ids.map(\.value)),
              ])
            }
          }
        }
        return await Self.response(to: write, commands, admission)
      } catch {
        throw Problem(any: error)
      }
    }

    /// The response to a write that is durable.
    ///
    /// After an erasure it counts the devices that have not confirmed it. A repeated request does not wait
    /// for them: it tells how many there are by then.
    private static func response(
      to write: DurableWrite, _ commands: [WriteCommand], _ admission: Admission
    ) async -> Response {
      guard commands.contains(where: { $0.method == .erase }) else { return write.response() }
      if !write.isRepeated { log(commands, write.sequence, admission) }
      let devices = await admission.application.unconfirmedDevices(
        of: write.sequence, waiting: write.isRepeated ? .zero : UnconfirmedDevices.patience)
      return write.response(adding: devices.counts)
    }

    /// Logs how many documents a write has erased; without their ids, which the log must not remember.
    private static func log(_ commands: [WriteCommand], _ sequence: UInt64, _ admission: Admission) {
      let erased = commands.filter { $0.method == .erase }
      for (collection, commands) in Dictionary(grouping: erased, by: \.collection) {
        admission.application.logger.notice(
          "Documents were erased",
          metadata: [
            "collection": "\(collection)", "documents": "\(commands.count)", "sequence": "\(sequence)",
            "key": "\(admission.key.id)",
          ])
      }
    }

    /// Adds the command's index to an error.
    private static func locating<R>(_ index: Int, _ body: () throws -> R) throws -> R {
      do { return try body() } catch { throw Problem(any: error).within("commands[\(index)]") }
    }
  }

  /// One command of a write.
  struct WriteCommand: Sendable {
    enum Method: String, Sendable { case upsert, update, remove, erase }

    /// The documents that the command concerns.
    private enum Target: Sendable {
      case id(DocumentID)
      case query(DocumentQuery)
      /// A new document.
      case new
    }

    let method: Method
    let collection: String
    private let target: Target
    private let fields: [TextKey: Value]
    private let edits: [Edit]
    private let strategy: WriteStrategy

    /// The maximum number of edits in one command.
    private static let editLimit = 1_000

    /// Reads a command.
    ///
    /// - Throws: `request`; `invalidDocumentID`, and the codes of queries.
    init(_ value: Value, at place: String) throws {
      var members = try RequestFields(value, at: place)
      let name = try members.requiredText("method")
      guard let method = Method(rawValue: name) else {
        throw Problem.request("\(place).method must be upsert, update, remove or erase")
      }
      self.method = method
      collection = try DocumentQuery.collection(&members)
      let id = try DocumentQuery.id(&members)
      switch method {
      case .upsert:
        guard var fields = try members.map("value") else {
          throw Problem.request("\(place).value is missing")
        }
        try Self.override(&fields, try members.map("valueTypeOverrides") ?? [:], place)
        strategy = try Self.strategy(try members.text("writeStrategy"), place)
        self.fields = fields
        edits = []
        target = id.map { .id($0) } ?? .new
      case .update:
        let query = try DocumentQuery(collection: collection, &members)
        edits = try Self.edits(&members, place)
        target = try Self.target(id, query, place)
        (fields, strategy) = ([:], .merge)
      case .remove:
        target = try Self.target(id, try DocumentQuery(collection: collection, &members), place)
        (fields, edits, strategy) = ([:], [], .merge)
      case .erase:
        guard let id else { throw Problem.request("\(place) needs id: documents are erased one by one") }
        target = .id(id)
        (fields, edits, strategy) = ([:], [], .merge)
      }
      try members.finish()
    }

    /// Checks that the key of a request may carry it out.
    ///
    /// - Throws: `permission`.
    func check(_ admission: Admission) throws(Problem) {
      try admission.check(.write, in: collection)
      if case .query(let query) = target { try admission.check(.select(query.select)) }
    }

    private static func target(_ id: DocumentID?, _ query: DocumentQuery, _ place: String) throws -> Target {
      guard query.isGiven != (id != nil) else {
        throw Problem.request("\(place) needs id or query, and not both")
      }
      return id.map { .id($0) } ?? .query(query)
    }

    private static func strategy(_ name: String?, _ place: String) throws(Problem) -> WriteStrategy {
      switch name {
      case nil, "merge": return .merge
      case "insertIfAbsent": return .insertIfAbsent
      case "insertDefaultIfAbsent": return .insertDefaultIfAbsent
      case "updateDifferentValues": return .updateDifferentValues
      default:
        throw Problem.request(
          "\(place).writeStrategy must be merge, insertIfAbsent, insertDefaultIfAbsent or updateDifferentValues"
        )
      }
    }

    /// Converts the numbers at some paths to counters.
    private static func override(
      _ fields: inout [TextKey: Value], _ overrides: [TextKey: Value], _ place: String
    ) throws(Problem) {
      for (path, type) in overrides {
        let isDone = type == .string("counter") && makeCounter(&fields, path.text.split(separator: "."))
        guard isDone else {
          throw Problem.argument(
            "\(place).valueTypeOverrides.\(path) must be \"counter\", and a whole number must stand at that path of value"
          )
        }
      }
    }

    private static func makeCounter(_ fields: inout [TextKey: Value], _ path: [Substring]) -> Bool {
      guard let first = path.first else { return false }
      let key = TextKey(String(first))
      switch fields[key] {
      case .int, .double:
        guard path.count == 1, let number = fields[key]?.wholeNumber else { return false }
        fields[key] = .counter(number)
        return true
      case .map(var inner)?:
        guard makeCounter(&inner, Array(path.dropFirst())) else { return false }
        fields[key] = .map(inner)
        return true
      default: return false
      }
    }

    /// Reads `value`, whose members are set, and `commands`, which have further edits.
    private static func edits(_ members: inout RequestFields, _ place: String) throws(Problem) -> [Edit] {
      var edits = (try members.map("value") ?? [:]).sorted { $0.key < $1.key }.map { Edit.set([$0], $1) }
      for (index, value) in (try members.list("commands", count: 1...editLimit) ?? []).enumerated() {
        edits.append(try edit(value, "\(place).commands[\(index)]"))
      }
      guard !edits.isEmpty else { throw Problem.request("\(place) needs value or commands") }
      return edits
    }

    private static func edit(_ value: Value, _ place: String) throws(Problem) -> Edit {
      var members = try RequestFields(value, at: place)
      let method = try members.requiredText("method")
      let path = try members.requiredText("path", bytes: 16 << 10).split(separator: ".").map {
        TextKey(String($0))
      }
      let value = members.value("value")
      try members.finish()
      guard !path.isEmpty else { throw Problem.request("\(place).path must name a field") }
      let isGiven = value != nil
      switch (method, value?.wholeNumber) {
      case ("set", _): return .set(path, value ?? .null)
      case ("remove", _) where !isGiven: return .remove(path)
      case ("increment", let number?): return .increment(path, number)
      case ("replaceWithCounter", let number?): return .replace(path, .counter(number))
      case ("replaceWithCounter", _) where !isGiven: return .replace(path, .counter(0))
      case ("remove", _): throw Problem.argument("\(place): remove takes no value")
      case ("increment", _), ("replaceWithCounter", _):
        throw Problem.argument("\(place).value must be a whole number")
      default:
        throw Problem.request("\(place).method must be set, remove, increment or replaceWithCounter")
      }
    }

    /// Carries out the command inside a transaction.
    ///
    /// - Returns: The documents that were written.
    /// - Throws: The codes of writes and queries.
    func carryOut(
      in transaction: WriteTransaction, _ engine: Engine, _ context: StatementContext
    ) throws -> [DocumentID] {
      try context.poll()
      switch method {
      case .upsert:
        if case .id(let id) = target {
          return [try transaction.upsert(fields, id: id, into: collection, strategy: strategy)]
        }
        return [try transaction.upsert(fields, into: collection, strategy: strategy)]
      case .update:
        return try ids(in: transaction, engine, context).filter {
          try context.poll()
          return try transaction.update($0, in: collection, edits)
        }
      case .remove:
        return try ids(in: transaction, engine, context).filter {
          try context.poll()
          return try transaction.remove($0, in: collection)
        }
      case .erase:
        return try ids(in: transaction, engine, context).map {
          _ = try transaction.erase($0, in: collection)
          return $0
        }
      }
    }

    private func ids(
      in transaction: WriteTransaction, _ engine: Engine, _ context: StatementContext
    ) throws -> [DocumentID] {
      switch target {
      case .id(let id): return [id]
      case .new: return []
      case .query(let query):
        var select = query.select
        // Only the id of each document is copied.
        select.projection = .columns([Select.Column(expression: .path([.key("_id")]), name: "_id")])
        return try engine.execute(
          .select(select), arguments: query.arguments, in: transaction, context: context
        ).rows.compactMap { row in try row.values()["_id"].map { try DocumentID($0) } }
      }
    }
  }
#endif
