import CRDTCore
import QueryEngine

/// The result of a statement, and where its rows come from.
struct Answer: Sendable {
  let result: QueryResult
  let origin: RowOrigin

  init(_ result: QueryResult, _ origin: RowOrigin) {
    self.result = result
    self.origin = origin
  }

  var rows: [Row] { result.rows }

  /// The rows as documents, for a query that selects whole documents.
  ///
  /// - Throws: `io`, `corrupt`; `runtime` for a row that is no document.
  func documents() throws -> [DunlinDocument] {
    try translatingErrors { try rows.map { try DunlinDocument(row: $0, origin) } }
  }

  /// The rows as a type of the application's.
  ///
  /// - Throws: `decoding` with the collection, the document, the row, counted from 0, the type, and the path
  ///   that does not fit; `io`, `corrupt`.
  func decoded<T: Decodable>(as type: T.Type) throws -> [T] {
    try translatingErrors {
      try zip(0..., rows).map {
        try ValueDecoding.decode(type, from: $1.values(), of: $1.id, row: $0, origin)
      }
    }
  }

  /// The rows as a type of the application's, off the caller's actor.
  @concurrent
  func decoding<T: Decodable & Sendable>(as type: T.Type) async throws -> [T] { try decoded(as: type) }

  /// The rows as a type of the application's, with all that the statement has returned.
  ///
  /// - Throws: The same as `decoded(as:)`; no `decoding` where rows that do not fit are left out.
  func typed<T: Decodable>(as type: T.Type, unfit: DunlinUnfitRows) throws -> DunlinTypedResult<T> {
    switch unfit {
    case .fail: return DunlinTypedResult(try decoded(as: type), unfit: [], result)
    case .leaveOut:
      var (items, unfit): ([T], [DunlinUnfitRow]) = ([], [])
      for (number, row) in rows.enumerated() {
        let fields = try translatingErrors { try row.values() }
        do throws(DunlinError) {
          items.append(try ValueDecoding.decode(type, from: fields, of: row.id, row: number, origin))
        } catch {
          unfit.append(DunlinUnfitRow(fields, row.id, error))
        }
      }
      return DunlinTypedResult(items, unfit: unfit, result)
    }
  }

  /// The rows as a type of the application's, with the rest of the result, off the caller's actor.
  @concurrent
  func typing<T: Decodable & Sendable>(
    as type: T.Type, unfit: DunlinUnfitRows
  ) async throws -> DunlinTypedResult<T> { try typed(as: type, unfit: unfit) }
}
