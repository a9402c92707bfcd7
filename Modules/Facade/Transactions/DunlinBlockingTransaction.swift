import CRDTCore
import QueryEngine

/// What read and write transactions have in common whose bodies await nothing: DQL.
public class DunlinBlockingTransaction {
  init() {}

  func prepare(_ query: String) throws -> PreparedStatement {
    preconditionFailure("Each kind of transaction prepares by itself")
  }

  func answer(_ prepared: PreparedStatement, _ arguments: Arguments) throws -> QueryResult {
    preconditionFailure("Each kind of transaction answers by itself")
  }

  private func result(_ prepared: PreparedStatement, _ arguments: Arguments) throws -> QueryResult {
    try translatingErrors { try answer(prepared, arguments) }
  }

  private func result(_ query: String, _ arguments: Arguments) throws -> QueryResult {
    try translatingErrors { try answer(prepare(query), arguments) }
  }

  /// Executes one DQL statement as a part of the transaction.
  ///
  /// One that fails has written nothing, and a body that catches its error can go on.
  /// - Parameters:
  ///   - query: The statement.
  ///   - arguments: The values of its parameters.
  /// - Returns: The rows, and what was changed.
  /// - Throws: The codes of queries; `readOnlyTransaction` for a statement that writes, where nothing may be.
  @discardableResult
  public func execute(query: String, arguments: [String: Any?] = [:]) throws -> DunlinQueryResult {
    try DunlinQueryResult(result(query, Value.fields(arguments)))
  }

  /// Executes one DQL statement as a part of the transaction; the rows are what `type` decodes.
  ///
  /// - Throws: As the other form; `decoding` with the row, counted from 0, and the path that does not fit.
  public func execute<T: Decodable>(
    query: String, arguments: [String: Any?] = [:], as type: T.Type
  ) throws -> [T] {
    try result(query, Value.fields(arguments)).decoded(as: type)
  }

  /// Executes one DQL statement as a part of the transaction, with the fields that a value encodes as arguments.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func execute(query: String, arguments: some Encodable) throws -> DunlinQueryResult {
    try DunlinQueryResult(result(query, ValueEncoding.arguments(arguments)))
  }

  /// Executes one DQL statement as a part of the transaction, with the fields that a value encodes as arguments; the rows
  /// are what `type` decodes.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable>(
    query: String, arguments: some Encodable, as type: T.Type
  ) throws -> [T] {
    try result(query, ValueEncoding.arguments(arguments)).decoded(as: type)
  }

  /// Executes a prepared statement as a part of the transaction.
  ///
  /// - Throws: As the form that takes the text, but for `syntax`.
  @discardableResult
  public func execute(
    _ statement: DunlinPreparedStatement, arguments: [String: Any?] = [:]
  ) throws -> DunlinQueryResult {
    try DunlinQueryResult(result(statement.prepared, Value.fields(arguments)))
  }

  /// Executes a prepared statement as a part of the transaction; the rows are what `type` decodes.
  ///
  /// - Throws: As the form that takes the text, but for `syntax`.
  public func execute<T: Decodable>(
    _ statement: DunlinPreparedStatement, arguments: [String: Any?] = [:], as type: T.Type
  ) throws -> [T] {
    try result(statement.prepared, Value.fields(arguments)).decoded(as: type)
  }

  /// Executes a prepared statement as a part of the transaction, with the fields that a value encodes as arguments.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func execute(
    _ statement: DunlinPreparedStatement, arguments: some Encodable
  ) throws -> DunlinQueryResult {
    try DunlinQueryResult(result(statement.prepared, ValueEncoding.arguments(arguments)))
  }

  /// Executes a prepared statement as a part of the transaction, with the fields that a value encodes as arguments; the
  /// rows are what `type` decodes.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable>(
    _ statement: DunlinPreparedStatement, arguments: some Encodable, as type: T.Type
  ) throws -> [T] {
    try result(statement.prepared, ValueEncoding.arguments(arguments)).decoded(as: type)
  }
}
