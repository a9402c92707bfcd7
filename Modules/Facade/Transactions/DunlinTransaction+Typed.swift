import CRDTCore
import QueryEngine

extension DunlinTransaction {
  /// Executes one DQL statement as a part of the transaction, and decodes the rows as `type`.
  ///
  /// - Throws: The codes of queries; `decoding` with the document, the row, counted from 0, and the path that
  ///   does not fit; `deadline`, `closed`, `cancelled`.
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
  /// - Throws: The codes of queries; `decoding` with the document, the row, counted from 0, and the path that
  ///   does not fit; `deadline`, `closed`, `cancelled`.
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

  // MARK: - With the rest of the result

  /// Executes one DQL statement as a part of the transaction, and decodes the rows, with the hints.
  ///
  /// - Parameters:
  ///   - query: The statement.
  ///   - arguments: The values of its parameters.
  ///   - type: The type as which each row is decoded.
  ///   - unfit: What happens with rows that do not fit: the call throws, or hands them over beside the rest.
  /// - Returns: The rows that fit and those that do not, the changed documents, and the hints.
  /// - Throws: The same as the form that returns only rows; no `decoding` with `.leaveOut`.
  @_disfavoredOverload
  public func execute<T: Decodable & Sendable>(
    query: String, arguments: [String: Any?] = [:], as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) async throws -> DunlinTypedResult<T> {
    try await answering(query, Value.fields(arguments)).typing(as: type, unfit: unfit)
  }

  /// Executes one DQL statement with an encoded value as arguments, and decodes the rows, with the hints.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable & Sendable>(
    query: String, arguments: some Encodable, as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) async throws -> DunlinTypedResult<T> {
    try await answering(query, ValueEncoding.arguments(arguments)).typing(as: type, unfit: unfit)
  }

  /// Executes a prepared statement as a part of the transaction, and decodes the rows, with the hints.
  ///
  /// - Throws: The same as the form that takes the text, without `syntax`.
  @_disfavoredOverload
  public func execute<T: Decodable & Sendable>(
    _ statement: DunlinPreparedStatement, arguments: [String: Any?] = [:], as type: T.Type,
    unfit: DunlinUnfitRows = .fail
  ) async throws -> DunlinTypedResult<T> {
    try await answering(statement.prepared, Value.fields(arguments)).typing(as: type, unfit: unfit)
  }

  /// Executes a prepared statement with an encoded value as arguments, and decodes the rows, with the hints.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable & Sendable>(
    _ statement: DunlinPreparedStatement, arguments: some Encodable, as type: T.Type,
    unfit: DunlinUnfitRows = .fail
  ) async throws -> DunlinTypedResult<T> {
    try await answering(statement.prepared, ValueEncoding.arguments(arguments)).typing(as: type, unfit: unfit)
  }
}
