import QueryEngine

extension DunlinPendingCursorOperation {
  /// The changes of the documents that are found, for `for await`: the newest state, with exact diffs.
  ///
  /// - Returns: The changes; each iteration starts with the present result.
  /// - Throws: `syntax`, `argument` and the other codes of queries; `unsupported` for a virtual collection.
  public func changes() throws -> DunlinDiffs {
    try local.diffs(of: .select(finding.select()), finding.arguments)
  }

  /// The changes of the documents that are found, decoded as a type of the application, for `for try await`.
  ///
  /// - Parameters:
  ///   - type: The type of each decoded document.
  ///   - unfit: What happens with documents that do not fit: the loop throws, or leaves them out and goes on.
  /// - Returns: The newest results with exact diffs.
  /// - Throws: The same as the form without a type.
  public func changes<T: Decodable & Sendable>(
    as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) throws -> DunlinTypedDiffs<T> {
    DunlinTypedDiffs(try changes(), unfit: unfit)
  }
}

extension DunlinPendingIDSpecificOperation {
  /// The changes of the document, for `for await`: it is the only item, or there is none.
  ///
  /// - Returns: The changes; each iteration starts with the present result.
  /// - Throws: `invalidDocumentID`; `unsupported` for a virtual collection.
  public func changes() throws -> DunlinDiffs { try found().changes() }

  /// The changes of the document, decoded as a type of the application, for `for try await`.
  ///
  /// - Parameters:
  ///   - type: The type of the decoded document.
  ///   - unfit: What happens when the document does not fit: the loop throws, or leaves it out and goes on.
  /// - Returns: The newest results with exact diffs.
  /// - Throws: The same as the form without a type.
  public func changes<T: Decodable & Sendable>(
    as type: T.Type, unfit: DunlinUnfitRows = .fail
  ) throws -> DunlinTypedDiffs<T> { try found().changes(as: type, unfit: unfit) }
}
