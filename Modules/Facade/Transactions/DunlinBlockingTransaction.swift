import CRDTCore
import QueryEngine

/// The DQL calls that read and write transactions without `await` have in common.
public class DunlinBlockingTransaction {
  init() {}

  func prepare(_ query: String) throws -> PreparedStatement {
    preconditionFailure("Each kind of transaction prepares by itself")
  }

  func answer(_ prepared: PreparedStatement, _ arguments: Arguments) throws -> QueryResult {
    preconditionFailure("Each kind of transaction answers by itself")
  }

  private func result(_ prepared: PreparedStatement, _ arguments: Arguments) throws -> Answer {
    try translatingErrors { Answer(try answer(prepared, arguments), .statement(prepared.text)) }
  }

  private func result(_ query: String, _ arguments: Arguments) throws -> Answer {
    try result(translatingErrors { try prepare(query) }, arguments)
  }

  /// Executes one DQL statement as a part of the transaction.
  ///
  /// A statement that fails has written nothing; a body that catches its error can go on.
  /// - Parameters:
  ///   - query: The statement.
  ///   - arguments: The values of its parameters.
  /// - Returns: The rows, and the changed documents.
  /// - Throws: The codes of queries; `readOnlyTransaction` for a statement that writes in a read-only
  ///   transaction.
  @discardableResult
  public func execute(query: String, arguments: [String: Any?] = [:]) throws -> DunlinQueryResult {
    try DunlinQueryResult(result(query, Value.fields(arguments)))
  }

  /// Executes one DQL statement as a part of the transaction, and decodes the rows as `type`.
  ///
  /// - Throws: The same as the other form; `decoding` with the row, counted from 0, and the path that does
  ///   not fit.
  public func execute<T: Decodable>(
    query: String, arguments: [String: Any?] = [:], as type: T.Type
  ) throws -> [T] {
    try result(query, Value.fields(arguments)).decoded(as: type)
  }

  /// Executes one DQL statement as a part of the transaction, with an encoded value as arguments.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func execute(query: String, arguments: some Encodable) throws -> DunlinQueryResult {
    try DunlinQueryResult(result(query, ValueEncoding.arguments(arguments)))
  }

  /// Executes one DQL statement with an encoded value as arguments, and decodes the rows as `type`.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable>(
    query: String, arguments: some Encodable, as type: T.Type
  ) throws -> [T] {
    try result(query, ValueEncoding.arguments(arguments)).decoded(as: type)
  }

  /// Executes a prepared statement as a part of the transaction.
  ///
  /// - Throws: The same as the form that takes the text, without `syntax`.
  @discardableResult
  public func execute(
    _ statement: DunlinPreparedStatement, arguments: [String: Any?] = [:]
  ) throws -> DunlinQueryResult {
    try DunlinQueryResult(result(statement.prepared, Value.fields(arguments)))
  }

  /// Executes a prepared statement as a part of the transaction, and decodes the rows as `type`.
  ///
  /// - Throws: The same as the form that takes the text, without `syntax`.
  public func execute<T: Decodable>(
    _ statement: DunlinPreparedStatement, arguments: [String: Any?] = [:], as type: T.Type
  ) throws -> [T] {
    try result(statement.prepared, Value.fields(arguments)).decoded(as: type)
  }

  /// Executes a prepared statement as a part of the transaction, with an encoded value as arguments.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func execute(
    _ statement: DunlinPreparedStatement, arguments: some Encodable
  ) throws -> DunlinQueryResult {
    try DunlinQueryResult(result(statement.prepared, ValueEncoding.arguments(arguments)))
  }

  /// Executes a prepared statement with an encoded value as arguments, and decodes the rows as `type`.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable>(
    _ statement: DunlinPreparedStatement, arguments: some Encodable, as type: T.Type
  ) throws -> [T] {
    try result(statement.prepared, ValueEncoding.arguments(arguments)).decoded(as: type)
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
  public func execute<T: Decodable>(
    query: String, arguments: [String: Any?] = [:], as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) throws -> DunlinTypedResult<T> {
    try result(query, Value.fields(arguments)).typed(as: type, unfit: unfit)
  }

  /// Executes one DQL statement with an encoded value as arguments, and decodes the rows, with the hints.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable>(
    query: String, arguments: some Encodable, as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) throws -> DunlinTypedResult<T> {
    try result(query, ValueEncoding.arguments(arguments)).typed(as: type, unfit: unfit)
  }

  /// Executes a prepared statement as a part of the transaction, and decodes the rows, with the hints.
  ///
  /// - Throws: The same as the form that takes the text, without `syntax`.
  @_disfavoredOverload
  public func execute<T: Decodable>(
    _ statement: DunlinPreparedStatement, arguments: [String: Any?] = [:], as type: T.Type,
    unfit: DunlinUnfitRows = .fail
  ) throws -> DunlinTypedResult<T> {
    try result(statement.prepared, Value.fields(arguments)).typed(as: type, unfit: unfit)
  }

  /// Executes a prepared statement with an encoded value as arguments, and decodes the rows, with the hints.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func execute<T: Decodable>(
    _ statement: DunlinPreparedStatement, arguments: some Encodable, as type: T.Type,
    unfit: DunlinUnfitRows = .fail
  ) throws -> DunlinTypedResult<T> {
    try result(statement.prepared, ValueEncoding.arguments(arguments)).typed(as: type, unfit: unfit)
  }
}
