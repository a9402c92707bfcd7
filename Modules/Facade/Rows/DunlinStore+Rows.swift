import CRDTCore
import QueryEngine

extension DunlinStore {
  /// The rows of a SELECT one by one, for results of any size.
  ///
  /// They are read from one snapshot while the loop runs.
  ///
  /// - Parameters:
  ///   - query: SELECT, or EXPLAIN of one.
  ///   - arguments: The values of its parameters.
  /// - Returns: The rows; reading starts with the first one that the loop asks for.
  /// - Throws: `syntax`; `unsupported` for any other statement; `unsupportedValue`.
  public func rows(
    of query: String, arguments: [String: Any?] = [:]
  ) throws -> DunlinRows<DunlinQueryResultItem> {
    try rows(query, Value.fields(arguments))
  }

  /// The rows of a SELECT one by one, decoded as a type of the application.
  ///
  /// - Parameters:
  ///   - query: SELECT, or EXPLAIN of one.
  ///   - arguments: The values of its parameters.
  ///   - type: The type of each decoded row; decoding happens on a thread of the database.
  ///   - unfit: What happens with rows that do not fit: the loop throws, or goes on without them. To get them
  ///     too, read the rows without a type, and decode each.
  /// - Returns: The rows; reading starts with the first one that the loop asks for.
  /// - Throws: As the form for items.
  public func rows<T: Decodable & Sendable>(
    of query: String, arguments: [String: Any?] = [:], as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) throws -> DunlinRows<T> {
    try rows(query, Value.fields(arguments), as: type, unfit)
  }

  /// The rows of a SELECT one by one, with the fields that a value encodes as arguments.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func rows(
    of query: String, arguments: some Encodable
  ) throws -> DunlinRows<DunlinQueryResultItem> {
    try rows(query, ValueEncoding.arguments(arguments))
  }

  /// The rows of a SELECT one by one, decoded, with an `Encodable` value as arguments.
  ///
  /// Each field that the value encodes is an argument.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func rows<T: Decodable & Sendable>(
    of query: String, arguments: some Encodable, as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) throws -> DunlinRows<T> {
    try rows(query, ValueEncoding.arguments(arguments), as: type, unfit)
  }

  private func rows(_ query: String, _ arguments: Arguments) throws -> DunlinRows<DunlinQueryResultItem> {
    try DunlinRows(local, query, arguments) { row, _ in
      try DunlinQueryResultItem(row: row, .statement(query))
    }
  }

  private func rows<T: Decodable & Sendable>(
    _ query: String, _ arguments: Arguments, as type: T.Type, _ unfit: DunlinUnfitRows
  ) throws -> DunlinRows<T> {
    try DunlinRows(local, query, arguments) { row, number in
      let fields = try row.values()
      do {
        return try ValueDecoding.decode(type, from: fields, of: row.id, row: number, .statement(query))
      } catch {
        guard unfit == .leaveOut else { throw error }
        return nil
      }
    }
  }
}

// MARK: - Former names

extension DunlinStore {
  /// The rows of a SELECT one by one: the same as `rows(of:arguments:)`.
  ///
  /// - Throws: The same.
  @available(*, deprecated, renamed: "rows(of:arguments:)", message: "the text of a query has a label")
  public func rows(
    _ query: String, arguments: [String: Any?] = [:]
  ) throws -> DunlinRows<DunlinQueryResultItem> { try rows(of: query, arguments: arguments) }

  /// The rows of a SELECT one by one, decoded: the same as `rows(of:arguments:as:unfit:)`.
  ///
  /// - Throws: The same.
  @available(*, deprecated, renamed: "rows(of:arguments:as:)", message: "the text of a query has a label")
  public func rows<T: Decodable & Sendable>(
    _ query: String, arguments: [String: Any?] = [:], as type: T.Type
  ) throws -> DunlinRows<T> { try rows(of: query, arguments: arguments, as: type) }

  /// The rows of a SELECT one by one: the same as `rows(of:arguments:)`.
  ///
  /// - Throws: The same.
  @_disfavoredOverload
  @available(*, deprecated, renamed: "rows(of:arguments:)", message: "the text of a query has a label")
  public func rows(
    _ query: String, arguments: some Encodable
  ) throws -> DunlinRows<DunlinQueryResultItem> { try rows(of: query, arguments: arguments) }

  /// The rows of a SELECT one by one, decoded: the same as `rows(of:arguments:as:unfit:)`.
  ///
  /// - Throws: The same.
  @_disfavoredOverload
  @available(*, deprecated, renamed: "rows(of:arguments:as:)", message: "the text of a query has a label")
  public func rows<T: Decodable & Sendable>(
    _ query: String, arguments: some Encodable, as type: T.Type
  ) throws -> DunlinRows<T> { try rows(of: query, arguments: arguments, as: type) }
}
