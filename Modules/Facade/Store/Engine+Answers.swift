import CRDTCore
import QueryEngine

extension Engine {
  /// Executes a statement for an application that awaits it; throws public errors.
  func answering(_ query: String, _ arguments: [TextKey: Value]) async throws -> QueryResult {
    do {
      return try await execute(query, arguments: arguments)
    } catch {
      throw DunlinError.translating(error)
    }
  }

  /// Executes a prepared statement for an application that awaits it; throws public errors.
  func answering(_ prepared: PreparedStatement, _ arguments: [TextKey: Value]) async throws -> QueryResult {
    do {
      return try await execute(prepared, arguments: arguments)
    } catch {
      throw DunlinError.translating(error)
    }
  }

  /// Executes a statement while the caller's thread waits; throws public errors.
  func answer(_ query: String, _ arguments: [TextKey: Value]) throws -> QueryResult {
    try translatingErrors(awaitedForm: "try await execute") { try execute(query, arguments: arguments) }
  }

  /// Executes a parsed statement while the caller's thread waits; throws public errors.
  func answer(_ statement: Statement, _ arguments: [TextKey: Value]) throws -> QueryResult {
    try translatingErrors(awaitedForm: "try await execute") { try execute(statement, arguments: arguments) }
  }

  /// Executes a prepared statement while the caller's thread waits; throws public errors.
  func answer(_ prepared: PreparedStatement, _ arguments: [TextKey: Value]) throws -> QueryResult {
    try translatingErrors(awaitedForm: "try await execute") { try execute(prepared, arguments: arguments) }
  }
}

extension QueryResult {
  /// The rows as a type of the application's.
  ///
  /// - Throws: `decoding` with the row, counted from 0, and the path that does not fit; `io`, `corrupt`.
  func decoded<T: Decodable>(as type: T.Type) throws -> [T] {
    try translatingErrors {
      try zip(0..., rows).map { try ValueDecoding.decode(type, from: $1.values(), row: $0) }
    }
  }

  /// The rows as a type of the application's, off the caller's actor.
  @concurrent
  func decoding<T: Decodable & Sendable>(as type: T.Type) async throws -> [T] { try decoded(as: type) }
}
