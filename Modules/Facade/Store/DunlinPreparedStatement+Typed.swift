import CRDTCore
import QueryEngine

extension DunlinPreparedStatement {
  /// Executes the statement, and decodes the rows as `type`.
  ///
  /// No thread waits meanwhile. The rows are decoded off the caller's actor.
  /// - Parameters:
  ///   - arguments: The values of its parameters.
  ///   - type: The type as which each row is decoded.
  /// - Returns: The rows.
  /// - Throws: The same as the form that returns a `DunlinQueryResult`; `decoding` with the document, the
  ///   row, counted from 0, and the path that does not fit. What the statement wrote stays written then.
  public func execute<T: Decodable & Sendable>(
    arguments: [String: Any?] = [:], as type: T.Type
  ) async throws -> [T] {
    try await engine.answering(prepared, Value.fields(arguments)).decoding(as: type)
  }

  /// Executes the statement without `await`, and decodes the rows as `type`.
  ///
  /// - Throws: The same as the form that is awaited; `wouldBlock`.
  public func execute<T: Decodable>(
    arguments: [String: Any?] = [:], as type: T.Type
  ) throws -> [T] {
    try engine.answer(prepared, Value.fields(arguments)).decoded(as: type)
  }

  /// Executes the statement with the fields that a value encodes as arguments.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func execute(
    arguments: some Encodable
  ) async throws -> DunlinQueryResult {
    try DunlinQueryResult(await engine.answering(prepared, ValueEncoding.arguments(arguments)))
  }

  /// Executes the statement without `await`, with the fields that a value encodes as arguments.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func execute(
    arguments: some Encodable
  ) throws -> DunlinQueryResult {
    try DunlinQueryResult(engine.answer(prepared, ValueEncoding.arguments(arguments)))
  }

  /// Executes the statement with an encoded value as arguments, and decodes the rows as `type`.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable & Sendable>(
    arguments: some Encodable, as type: T.Type
  ) async throws -> [T] {
    try await engine.answering(prepared, ValueEncoding.arguments(arguments)).decoding(as: type)
  }

  /// Executes the statement without `await`, with an encoded value as arguments, and decodes the rows.
  ///
  /// The rows are what `type` decodes.
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable>(
    arguments: some Encodable, as type: T.Type
  ) throws -> [T] {
    try engine.answer(prepared, ValueEncoding.arguments(arguments)).decoded(as: type)
  }

  // MARK: - With the rest of the result

  /// Executes the statement, and decodes the rows as `type`, with the commit and the hints beside them.
  ///
  /// - Parameters:
  ///   - arguments: The values of its parameters.
  ///   - type: The type as which each row is decoded.
  ///   - unfit: What happens with rows that do not fit: the call throws, or hands them over beside the rest.
  /// - Returns: The rows that fit and those that do not, the changed documents, the commit, and the hints.
  /// - Throws: The same as the form that returns only rows; no `decoding` with `.leaveOut`.
  @_disfavoredOverload
  public func execute<T: Decodable & Sendable>(
    arguments: [String: Any?] = [:], as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) async throws -> DunlinTypedResult<T> {
    try await engine.answering(prepared, Value.fields(arguments)).typing(as: type, unfit: unfit)
  }

  /// Executes the statement without `await`, and decodes the rows, with the rest of the result.
  ///
  /// - Throws: The same as the form that is awaited; `wouldBlock`.
  @_disfavoredOverload
  public func execute<T: Decodable>(
    arguments: [String: Any?] = [:], as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) throws -> DunlinTypedResult<T> {
    try engine.answer(prepared, Value.fields(arguments)).typed(as: type, unfit: unfit)
  }

  /// Executes the statement with an encoded value as arguments, and decodes the rows, with the rest.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable & Sendable>(
    arguments: some Encodable, as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) async throws -> DunlinTypedResult<T> {
    try await engine.answering(prepared, ValueEncoding.arguments(arguments)).typing(as: type, unfit: unfit)
  }

  /// Executes the statement without `await`, with an encoded value as arguments.
  ///
  /// The rows are decoded, with the rest of the result.
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable>(
    arguments: some Encodable, as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) throws -> DunlinTypedResult<T> {
    try engine.answer(prepared, ValueEncoding.arguments(arguments)).typed(as: type, unfit: unfit)
  }
}
