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
  /// - Throws: The same as the form that returns a `DunlinQueryResult`; `decoding` with the row, counted from
  ///   0, and the path that does not fit. What the statement wrote stays written then.
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
}
