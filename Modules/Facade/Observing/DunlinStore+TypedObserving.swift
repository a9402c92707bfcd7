import CRDTCore
public import Dispatch

extension DunlinStore {
  /// The changes of a SELECT's result, decoded as a type of the application, for `for try await`.
  ///
  /// - Parameters:
  ///   - query: The statement.
  ///   - arguments: The values of its parameters.
  ///   - type: The type of each decoded row.
  ///   - unfit: What happens with rows that do not fit: the loop throws, or leaves them out and goes on.
  /// - Returns: The newest results with exact diffs.
  /// - Throws: `syntax`, `argument`; `unsupported` for other statements than SELECT.
  public func changes<T: Decodable & Sendable>(
    of query: String, arguments: [String: Any?] = [:], as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) throws -> DunlinTypedDiffs<T> {
    DunlinTypedDiffs(try changes(of: query, arguments: arguments), unfit: unfit)
  }

  /// The changes of a SELECT's result, with the fields that a value encodes as arguments.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func changes(of query: String, arguments: some Encodable) throws -> DunlinDiffs {
    try diffs(of: query, ValueEncoding.arguments(arguments))
  }

  /// The changes of a SELECT's result as a type of the application, with an `Encodable` value as arguments.
  ///
  /// Each field that the value encodes is an argument.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func changes<T: Decodable & Sendable>(
    of query: String, arguments: some Encodable, as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) throws -> DunlinTypedDiffs<T> {
    DunlinTypedDiffs(try changes(of: query, arguments: arguments), unfit: unfit)
  }

  /// Calls `handler` with the result of a SELECT, with the fields that a value encodes as arguments.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func registerObserver(
    query: String, arguments: some Encodable, deliverOn: DispatchQueue? = nil,
    handler: @escaping @Sendable (_ result: DunlinQueryResult) -> Void
  ) throws -> DunlinStoreObserver {
    try observe(query, ValueEncoding.arguments(arguments), on: deliverOn) { result, next in
      handler(result)
      next()
    }
  }
}
