import CRDTCore
import QueryEngine

extension DunlinTransaction {
  /// Executes one DQL statement as a part of the transaction, and decodes the rows as `type`.
  ///
  /// - Throws: The codes of queries; `decoding` with the row, counted from 0, and the path that does not fit;
  ///   `deadline`, `closed`, `cancelled`.
  public func execute<T: Decodable & Sendable>(
    query: String, arguments: [String: Any?] = [:], as type: T.Type
  ) async throws -> [T] {
    try await answering(query, Value.fields(arguments)).decoding(as: type)
  }

  /// Executes one DQL statement as a part of the transaction, with an encoded value as arguments.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func execute(query: String, arguments: some Encodable) async throws -> DunlinQueryResult {
    try DunlinQueryResult(await answering(query, ValueEncoding.arguments(arguments)))
  }

  /// Executes one DQL statement with an encoded value as arguments, and decodes the rows as `type`.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable & Sendable>(
    query: String, arguments: some Encodable, as type: T.Type
  ) async throws -> [T] {
    try await answering(query, ValueEncoding.arguments(arguments)).decoding(as: type)
  }

  /// Executes a prepared statement as a part of the transaction, and decodes the rows as `type`.
  ///
  /// - Throws: The codes of queries; `decoding` with the row, counted from 0, and the path that does not fit;
  ///   `deadline`, `closed`, `cancelled`.
  public func execute<T: Decodable & Sendable>(
    _ statement: DunlinPreparedStatement, arguments: [String: Any?] = [:], as type: T.Type
  ) async throws -> [T] {
    try await answering(statement.prepared, Value.fields(arguments)).decoding(as: type)
  }

  /// Executes a prepared statement as a part of the transaction, with an encoded value as arguments.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func execute(
    _ statement: DunlinPreparedStatement, arguments: some Encodable
  ) async throws -> DunlinQueryResult {
    try DunlinQueryResult(await answering(statement.prepared, ValueEncoding.arguments(arguments)))
  }

  /// Executes a prepared statement with an encoded value as arguments, and decodes the rows as `type`.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable & Sendable>(
    _ statement: DunlinPreparedStatement, arguments: some Encodable, as type: T.Type
  ) async throws -> [T] {
    try await answering(statement.prepared, ValueEncoding.arguments(arguments)).decoding(as: type)
  }
}
