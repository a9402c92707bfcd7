import CRDTCore
import DocStore
import QueryEngine
import Synchronization

/// Runs statements, and writes batches of documents.
extension ControlActions {
  /// Runs a statement.
  ///
  /// Rows are sent as fast as the client reads them, so that a result of any size takes little memory.
  func query(
    _ text: String, _ arguments: [TextKey: Value], _ send: @escaping Send
  ) async throws -> [TextKey: Value] {
    let prepared = try database.engine.prepare(text)
    return try await prepared.statement.isQuery
      ? rows(of: prepared, arguments, send) : answer(to: prepared, arguments, send)
  }

  /// Has another peer run a SELECT on its own data, and sends the rows on.
  func ask(
    _ text: String, _ arguments: [TextKey: Value], of name: String, _ send: @escaping Send
  ) async throws -> [TextKey: Value] {
    let peer = try peer(named: name)
    // A mistake is reported here, where its place is known.
    try await sendColumns(try database.engine.prepare(text).statement, send)
    let count = Atomic(0)
    let isPresent = try await database.ask(text, arguments: arguments, peerID: peer.id) { rows in
      try await Self.sendRows(rows, send)
      count.add(rows.count, ordering: .relaxed)
    }
    guard isPresent else { throw absence(of: name) }
    return ["rows": .count(count.load(ordering: .relaxed))]
  }

  private func rows(
    of prepared: PreparedStatement, _ arguments: [TextKey: Value], _ send: @escaping Send
  ) async throws -> [TextKey: Value] {
    let reader = try database.readRows(of: prepared, arguments: arguments)
    defer { reader.stop() }
    try await sendColumns(prepared.statement, send)
    var count = 0
    while true {
      let rows = try await reader.takeRows()
      guard !rows.isEmpty else { break }
      try await Self.sendRows(rows, send)
      count += rows.count
    }
    return ["rows": .count(count), "hints": .array(reader.hints.map { .string($0) })]
  }

  private func answer(
    to prepared: PreparedStatement, _ arguments: [TextKey: Value], _ send: @escaping Send
  ) async throws -> [TextKey: Value] {
    let result = try await reporting(send) { report in
      try await control.hearing {
        report(MaintenanceProgress(done: $0.indexed, total: $0.total))
      } _: {
        try await database.engine.execute(prepared, arguments: arguments)
      }
    }
    try await Self.sendRows(result.rows.map { try $0.values() }, send)
    return [
      "rows": .count(result.rows.count), "changed": .count(result.mutatedDocumentIDs.count),
      "hints": .array(result.hints.map { .string($0) }),
    ]
  }

  private func sendColumns(_ statement: Statement, _ send: Send) async throws {
    let columns = statement.columnNames.map { Value.array($0.map { .string($0.text) }) }
    try await send(["columns": columns ?? .null])
  }

  /// Sends rows, many to a line.
  private static func sendRows(_ rows: [[TextKey: Value]], _ send: Send) async throws {
    for start in stride(from: 0, to: rows.count, by: ControlProtocol.rowsInLine) {
      let some = rows[start..<min(start + ControlProtocol.rowsInLine, rows.count)]
      try await send(["rows": .array(some.map { .map($0) })])
    }
  }

  // MARK: - Watching

  /// Sends a query's first rows now and after each possible change, until the request is cancelled.
  ///
  /// A slow client gets only the newest result.
  func watch(
    _ text: String, _ arguments: [TextKey: Value], limit: Int, _ send: @escaping Send
  ) async throws -> [TextKey: Value] {
    let prepared = try database.engine.prepare(text)
    let observation = try database.observeRows(of: prepared.statement, arguments: arguments)
    defer { observation.end() }
    while let rows = await observation.nextRows() {
      try await sendColumns(prepared.statement, send)
      try await Self.sendRows(rows.prefix(limit).map { try $0.values() }, send)
      try await send(["state": .map(["rows": .count(rows.count)])])
    }
    guard Task.isCancelled || database.isOpen else { throw ControlError(.closed, "the database was closed") }
    throw CancellationError()
  }

  // MARK: - Documents

  /// Writes documents in one transaction: all of them, or none.
  func insert(
    _ documents: [Value], into collection: String, _ strategy: WriteStrategy
  ) async throws -> [TextKey: Value] {
    let fields = try zip(0..., documents).map { index, document throws(ControlError) in
      guard case .map(let fields) = document else {
        throw ControlError(.argument, "a document must be a JSON object", document: index)
      }
      return fields
    }
    guard !fields.isEmpty else { return ["documents": .count(0)] }
    let (count, receipt) = try await database.store.write { [database] transaction in
      for (index, fields) in fields.enumerated() {
        do {
          try transaction.upsert(fields, into: collection, strategy: strategy)
        } catch {
          throw Self.failure(of: error, index, database)
        }
      }
      return fields.count
    }
    return ["documents": .count(count), "commit": .count(receipt.sequence)]
  }
  /// The error for a failed batch, caused by one of its documents or by the state of the store.
  private static func failure(
    of error: any Error, _ index: Int, _ database: any ControlledDatabase
  ) -> ControlError {
    let general = database.controlError(for: error)
    guard let error = error as? StoreError else {
      return ControlError(general.code, general.message, at: general.place, document: index)
    }
    let isOfDocument = [.document, .limit, .removedInTransaction].contains(error.code)
    return ControlError(
      general.code, isOfDocument ? error.message : "\(error)", document: isOfDocument ? index : nil)
  }
}
