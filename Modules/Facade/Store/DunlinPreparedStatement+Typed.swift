import CRDTCore
import QueryEngine

extension DunlinPreparedStatement {
  /// Executes the statement; the rows are what `type` decodes.
  ///
  /// No thread waits meanwhile. The rows are decoded off the caller's actor.
  /// - Parameters:
  ///   - arguments: The values of its parameters.
  ///   - type: What each row is decoded as.
  /// - Returns: The rows.
  /// - Throws: As the form that answers with a `DunlinQueryResult`; `decoding` with the row, counted from 0, and the
  ///   path that does not fit: what the statement wrote is written then.
  public func execute<T: Decodable & Sendable>(
    arguments: [String: Any?] = [:], as type: T.Type
  ) async throws -> [T] {
    try await engine.answering(prepared, Value.fields(arguments)).decoding(as: type)
  }

  /// Executes the statement where nothing can be awaited; the rows are what `type` decodes.
  ///
  /// - Throws: As the form that is awaited; `wouldBlock`.
  public func execute<T: Decodable>(
    arguments: [String: Any?] = [:], as type: T.Type
  ) throws -> [T] {
    try engine.answer(prepared, Value.fields(arguments)).decoded(as: type)
  }

  /// Executes the statement with the fields that a value encodes as arguments.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func execute(
    arguments: some Encodable
  ) async throws -> DunlinQueryResult {
    try DunlinQueryResult(await engine.answering(prepared, ValueEncoding.arguments(arguments)))
  }

  /// Executes the statement with the fields that a value encodes as arguments, where nothing can be awaited.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func execute(
    arguments: some Encodable
  ) throws -> DunlinQueryResult {
    try DunlinQueryResult(engine.answer(prepared, ValueEncoding.arguments(arguments)))
  }

  /// Executes the statement with the fields that a value encodes as arguments; the rows are what `type` decodes.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable & Sendable>(
    arguments: some Encodable, as type: T.Type
  ) async throws -> [T] {
    try await engine.answering(prepared, ValueEncoding.arguments(arguments)).decoding(as: type)
  }

  /// Executes the statement with the fields that a value encodes as arguments, where nothing can be awaited; the rows are
  /// what `type` decodes.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable>(
    arguments: some Encodable, as type: T.Type
  ) throws -> [T] {
    try engine.answer(prepared, ValueEncoding.arguments(arguments)).decoded(as: type)
  }
}
