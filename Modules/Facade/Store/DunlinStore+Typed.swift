import CRDTCore
import QueryEngine

extension DunlinStore {
  /// Executes one DQL statement, and decodes the rows as `type`.
  ///
  /// No thread waits meanwhile. The rows are decoded off the caller's actor.
  /// - Parameters:
  ///   - query: The statement.
  ///   - arguments: The values of its parameters.
  ///   - type: The type as which each row is decoded.
  /// - Returns: The rows.
  /// - Throws: The same as the form that returns a `DunlinQueryResult`; `decoding` with the document, the
  ///   row, counted from 0, and the path that does not fit. What the statement wrote stays written then.
  public func execute<T: Decodable & Sendable>(
    query: String, arguments: [String: Any?] = [:], as type: T.Type
  ) async throws -> [T] {
    try await local.engine.answering(query, Value.fields(arguments)).decoding(as: type)
  }

  /// Executes one DQL statement without `await`, and decodes the rows as `type`.
  ///
  /// - Throws: The same as the form that is awaited; `wouldBlock`.
  public func execute<T: Decodable>(
    query: String, arguments: [String: Any?] = [:], as type: T.Type
  ) throws -> [T] {
    try local.engine.answer(query, Value.fields(arguments)).decoded(as: type)
  }

  /// Executes one DQL statement with the fields that a value encodes as arguments.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func execute(
    query: String, arguments: some Encodable
  ) async throws -> DunlinQueryResult {
    try DunlinQueryResult(await local.engine.answering(query, ValueEncoding.arguments(arguments)))
  }

  /// Executes one DQL statement without `await`, with an encoded value as arguments.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func execute(
    query: String, arguments: some Encodable
  ) throws -> DunlinQueryResult {
    try DunlinQueryResult(local.engine.answer(query, ValueEncoding.arguments(arguments)))
  }

  /// Executes one DQL statement with an encoded value as arguments, and decodes the rows as `type`.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable & Sendable>(
    query: String, arguments: some Encodable, as type: T.Type
  ) async throws -> [T] {
    try await local.engine.answering(query, ValueEncoding.arguments(arguments)).decoding(as: type)
  }

  /// Executes one DQL statement without `await`, with an encoded value as arguments, and decodes the rows.
  ///
  /// The rows are what `type` decodes.
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable>(
    query: String, arguments: some Encodable, as type: T.Type
  ) throws -> [T] {
    try local.engine.answer(query, ValueEncoding.arguments(arguments)).decoded(as: type)
  }

  // MARK: - With the rest of the result

  /// Executes one DQL statement, and decodes the rows as `type`, with the commit and the hints beside them.
  ///
  /// No thread waits meanwhile. The rows are decoded off the caller's actor.
  /// - Parameters:
  ///   - query: The statement.
  ///   - arguments: The values of its parameters.
  ///   - type: The type as which each row is decoded.
  ///   - unfit: What happens with rows that do not fit: the call throws, or hands them over beside the rest.
  /// - Returns: The rows that fit and those that do not, the changed documents, the commit, and the hints.
  /// - Throws: The same as the form that returns only rows; no `decoding` with `.leaveOut`.
  @_disfavoredOverload
  public func execute<T: Decodable & Sendable>(
    query: String, arguments: [String: Any?] = [:], as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) async throws -> DunlinTypedResult<T> {
    try await local.engine.answering(query, Value.fields(arguments)).typing(as: type, unfit: unfit)
  }

  /// Executes one DQL statement without `await`, and decodes the rows, with the rest of the result.
  ///
  /// - Throws: The same as the form that is awaited; `wouldBlock`.
  @_disfavoredOverload
  public func execute<T: Decodable>(
    query: String, arguments: [String: Any?] = [:], as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) throws -> DunlinTypedResult<T> {
    try local.engine.answer(query, Value.fields(arguments)).typed(as: type, unfit: unfit)
  }

  /// Executes one DQL statement with an encoded value as arguments, and decodes the rows, with the rest.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable & Sendable>(
    query: String, arguments: some Encodable, as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) async throws -> DunlinTypedResult<T> {
    try await local.engine.answering(query, ValueEncoding.arguments(arguments)).typing(as: type, unfit: unfit)
  }

  /// Executes one DQL statement without `await`, with an encoded value as arguments.
  ///
  /// The rows are decoded, with the rest of the result.
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable>(
    query: String, arguments: some Encodable, as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) throws -> DunlinTypedResult<T> {
    try local.engine.answer(query, ValueEncoding.arguments(arguments)).typed(as: type, unfit: unfit)
  }
}
