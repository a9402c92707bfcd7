import CRDTCore
import QueryEngine

extension Engine {
  /// Executes a statement for an application that awaits it; throws public errors.
  func answering(_ query: String, _ arguments: [TextKey: Value]) async throws -> Answer {
    do {
      return Answer(try await execute(query, arguments: arguments), .statement(query))
    } catch {
      throw DunlinError.translating(error)
    }
  }

  /// Executes a prepared statement for an application that awaits it; throws public errors.
  func answering(_ prepared: PreparedStatement, _ arguments: [TextKey: Value]) async throws -> Answer {
    do {
      return Answer(try await execute(prepared, arguments: arguments), .statement(prepared.text))
    } catch {
      throw DunlinError.translating(error)
    }
  }

  /// Executes a statement while the caller's thread waits; throws public errors.
  func answer(_ query: String, _ arguments: [TextKey: Value]) throws -> Answer {
    try translatingErrors(awaitedForm: "try await execute") {
      Answer(try execute(query, arguments: arguments), .statement(query))
    }
  }

  /// Executes a parsed statement while the caller's thread waits; throws public errors.
  func answer(_ statement: Statement, _ arguments: [TextKey: Value]) throws -> Answer {
    try translatingErrors(awaitedForm: "try await execute") {
      Answer(try execute(statement, arguments: arguments), .statement(statement))
    }
  }

  /// Executes a prepared statement while the caller's thread waits; throws public errors.
  func answer(_ prepared: PreparedStatement, _ arguments: [TextKey: Value]) throws -> Answer {
    try translatingErrors(awaitedForm: "try await execute") {
      Answer(try execute(prepared, arguments: arguments), .statement(prepared.text))
    }
  }
}
