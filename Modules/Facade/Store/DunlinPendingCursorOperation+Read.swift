import CRDTCore
import QueryEngine

extension DunlinPendingCursorOperation {
  /// Reads the documents as a type of the application's.
  ///
  /// - Throws: The same as `exec()`; `decoding` with the document, the row, counted from 0, and the path that
  ///   does not fit.
  public func exec<T: Decodable>(as type: T.Type) throws -> [T] {
    try local.engine.answer(.select(finding.select()), finding.arguments).decoded(as: type)
  }

  /// Reads the documents as a type of the application's, with those that do not fit as the caller chooses.
  ///
  /// - Parameters:
  ///   - type: The type as which each document is decoded.
  ///   - unfit: What happens with documents that do not fit: the call throws, or hands them over beside the
  ///     others.
  /// - Returns: The documents that fit, those that do not, and the hints.
  /// - Throws: The same as `exec()`; `decoding` with `.fail`.
  public func exec<T: Decodable>(as type: T.Type, unfit: DunlinUnfitRows) throws -> DunlinTypedResult<T> {
    try local.engine.answer(.select(finding.select()), finding.arguments).typed(as: type, unfit: unfit)
  }

  /// Reads only the first document.
  ///
  /// Without a sort, this is any of the documents.
  /// - Returns: The document; `nil` when there is none.
  /// - Throws: The same as `exec()`.
  public func first() throws -> DunlinDocument? { try with(finding.first).exec().first }

  /// Reads only the first document, as a type of the application's.
  ///
  /// - Returns: The value; `nil` when there is no document.
  /// - Throws: The same as `exec(as:)`.
  public func first<T: Decodable>(as type: T.Type) throws -> T? {
    try with(finding.first).exec(as: type).first
  }

  /// Counts the documents; reads none where an index or the collection has the number.
  ///
  /// - Returns: As many as `exec()` would read.
  /// - Throws: The same as `exec()`.
  public func count() throws -> Int {
    let statement = try Statement.select(finding.counting())
    return try translatingErrors {
      try finding.count(local.engine.answer(statement, finding.arguments).rows.first)
    }
  }

  private func with(_ finding: Finding) -> Self { Self(finding, local) }
}

extension DunlinWriteTransactionPendingCursorOperation {
  /// Reads the documents as a type of the application's, with what the transaction has written.
  ///
  /// - Throws: The codes of queries; `decoding` with the row, counted from 0, and the path that does not fit.
  public func exec<T: Decodable>(as type: T.Type) throws -> [T] {
    try operations.answer(.select(finding.select()), finding).decoded(as: type)
  }

  /// Reads the documents as a type of the application's, with those that do not fit as the caller chooses.
  ///
  /// - Parameters:
  ///   - type: The type as which each document is decoded.
  ///   - unfit: What happens with documents that do not fit: the call throws, or hands them over beside the
  ///     others.
  /// - Returns: The documents that fit, those that do not, and the hints.
  /// - Throws: The same as `exec()`; `decoding` with `.fail`.
  public func exec<T: Decodable>(as type: T.Type, unfit: DunlinUnfitRows) throws -> DunlinTypedResult<T> {
    try operations.answer(.select(finding.select()), finding).typed(as: type, unfit: unfit)
  }

  /// Reads only the first document, with what the transaction has written.
  ///
  /// - Returns: The document; `nil` when there is none.
  /// - Throws: The codes of queries.
  public func first() throws -> DunlinDocument? { try with(finding.first).exec().first }

  /// Reads only the first document as a type of the application's, with what the transaction has written.
  ///
  /// - Returns: The value; `nil` when there is no document.
  /// - Throws: The same as `exec(as:)`.
  public func first<T: Decodable>(as type: T.Type) throws -> T? {
    try with(finding.first).exec(as: type).first
  }

  /// Counts the documents, with what the transaction has written.
  ///
  /// - Returns: As many as `exec()` would read.
  /// - Throws: The codes of queries.
  public func count() throws -> Int {
    let statement = try Statement.select(finding.counting())
    return try translatingErrors { try finding.count(operations.answer(statement, finding).rows.first) }
  }
}

extension DunlinPendingIDSpecificOperation {
  /// Reads the document as a type of the application's.
  ///
  /// - Returns: The value; `nil` when there is no document.
  /// - Throws: The same as `exec()`; `decoding` with the path that does not fit.
  public func exec<T: Decodable>(as type: T.Type) throws -> T? { try exec()?.decoded(as: type) }
}

extension DunlinWriteTransactionPendingIDSpecificOperation {
  /// Reads the document as a type of the application's, with what the transaction has written.
  ///
  /// - Returns: The value; `nil` when there is no document.
  /// - Throws: The same as `exec()`; `decoding` with the path that does not fit.
  public func exec<T: Decodable>(as type: T.Type) throws -> T? { try exec()?.decoded(as: type) }
}

extension Operations {
  /// Executes a query of the transaction; throws public errors.
  fileprivate func answer(_ statement: Statement, _ query: Finding) throws -> Answer {
    try translatingErrors { try execute(statement, query) }
  }
}
