#if Server
  import BenchmarkSupport
  import CPostgres
  import Foundation

  /// One connection to PostgreSQL with the two statements of the routes, on a queue of its own.
  // SAFETY: the connection is used on the queue only.
  final class PostgresConnection: @unchecked Sendable {
    private let connection: OpaquePointer
    private let queue = DispatchQueue(label: "postgres")

    init(port: Int) throws {
      guard let connection = PQconnectdb("host=127.0.0.1 port=\(port) user=bench dbname=postgres") else {
        throw BenchmarkError("libpq has no memory")
      }
      self.connection = connection
      guard PQstatus(connection) == CONNECTION_OK else {
        throw BenchmarkError("PostgreSQL: \(String(cString: PQerrorMessage(connection)))")
      }
      _ = try Self.check(
        PQprepare(
          connection, "put",
          """
          INSERT INTO orders (id, document) VALUES ($1, $2::jsonb)
            ON CONFLICT (id) DO UPDATE SET document = EXCLUDED.document
          """, 2, nil), connection)
      _ = try Self.check(
        PQprepare(connection, "get", "SELECT document FROM orders WHERE id = $1", 1, nil), connection)
    }

    deinit { PQfinish(connection) }

    /// Writes a document; it is durable when this returns.
    func put(_ id: String, _ document: String) async throws { _ = try await run("put", [id, document]) }

    /// The document's text; `nil` where there is none.
    func get(_ id: String) async throws -> String? { try await run("get", [id]) }

    private func run(_ statement: String, _ values: [String]) async throws -> String? {
      try await withCheckedThrowingContinuation { continuation in
        queue.async { [self] in continuation.resume(with: Result { try execute(statement, values) }) }
      }
    }

    private func execute(_ statement: String, _ values: [String]) throws -> String? {
      let texts = values.map { strdup($0) }
      defer { for text in texts { free(text) } }
      let pointers = texts.map { UnsafePointer($0) }
      return try Self.check(
        PQexecPrepared(connection, statement, Int32(pointers.count), pointers, nil, nil, 0), connection)
    }

    /// - Returns: The first column of the first row.
    private static func check(_ result: OpaquePointer?, _ connection: OpaquePointer) throws -> String? {
      defer { PQclear(result) }
      let status = PQresultStatus(result)
      guard status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK else {
        throw BenchmarkError("PostgreSQL: \(String(cString: PQerrorMessage(connection)))")
      }
      guard PQntuples(result) > 0, let value = PQgetvalue(result, 0, 0) else { return nil }
      return String(cString: value)
    }
  }
#endif
