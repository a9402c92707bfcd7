import DocStore

extension DunlinCollection {
  /// Erases documents: deletes them, and ends all that was ever written to them, here and at every peer.
  ///
  /// The content goes at once, also that of removed documents, and with it all versions in the history.
  /// Nothing that was written before comes back, whichever peer brings it. A later write by a peer that has
  /// not heard of it starts an empty document; the log warns of that. All ids are erased in one transaction.
  ///
  /// - Parameter ids: The documents, known here or not.
  /// - Returns: How many were found, and the commit. ``DunlinErasure/limits`` says what remains elsewhere.
  /// - Throws: `invalidDocumentID`, `invalidCollectionName`, `corrupt` for a damaged document, which must be
  ///   evicted first; `nestedWriteTransaction`, `wouldBlock`, `full`, `io`, `poisoned`, `closed`.
  @discardableResult
  public func erase(_ ids: [DunlinDocumentID]) throws -> DunlinErasure {
    let (found, receipt) = try local.commit(name, as: "erase") { try $0.erase(ids) }
    return DunlinErasure(found, receipt)
  }

  /// Erases documents without blocking a thread.
  ///
  /// - Parameter ids: The documents, known here or not.
  /// - Returns: How many were found, and the commit.
  /// - Throws: The same as the form that blocks, without `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func erase(_ ids: [DunlinDocumentID]) async throws -> DunlinErasure {
    let (found, receipt) = try await local.commit(name) { try $0.erase(ids) }
    return DunlinErasure(found, receipt)
  }
}
