import CRDTCore

extension DunlinCollection {
  /// Makes the stored document equal to these fields, and writes only the differences.
  ///
  /// `upsert` merges; `save` also removes the fields that are left out here, in maps at any depth too. Fields
  /// that are equal are not written, so that edits of them at other peers win. Where nothing differs there is
  /// no commit.
  ///
  /// An array is one value. A number that is saved over a stored counter counts the difference. A counter
  /// that was read adds what it has counted since.
  /// - Parameter content: The whole document. An `_id` among its fields names the document; without one, an
  ///   id is generated.
  /// - Returns: What was written.
  /// - Throws: `unsupportedValue`, `isACounter` for a fraction over a counter, `invalidDocumentID`,
  ///   `invalidCollectionName`, `limit`, `nestedWriteTransaction`, `wouldBlock`, `full`, `io`, `poisoned`,
  ///   `closed`.
  @discardableResult
  public func save(_ content: [String: Any?]) throws -> DunlinSaveResult {
    try save { (try SavedFields(content), nil) }
  }

  /// Makes the stored document equal to these fields, without blocking a thread.
  ///
  /// - Throws: The same as the form that blocks, without `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func save(_ content: [String: Any?]) async throws -> DunlinSaveResult {
    try await saving { (try SavedFields(content), nil) }
  }

  /// Makes the stored document equal to a value, and writes only the differences.
  ///
  /// Fields that the value's type does not know are removed. Where a newer release of the application may
  /// have written such fields, save with the original (`from:`). A `nil` that is not encoded removes its
  /// field, unless the field was read as a null.
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func save(_ content: some Encodable & Sendable) throws -> DunlinSaveResult {
    try save { (try SavedFields(encoding: content), nil) }
  }

  /// Makes the stored document equal to a value, without blocking a thread.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func save(_ content: some Encodable & Sendable) async throws -> DunlinSaveResult {
    try await saving { (try SavedFields(encoding: content), nil) }
  }

  /// Writes what was edited in a document since it was read, and leaves all other fields as they are now.
  ///
  /// Where `content` and `original` are equal, nothing is written, whatever others have written there
  /// meanwhile. Fields that neither of them has stay. A number over a counter adds its difference from the
  /// original.
  /// - Parameters:
  ///   - content: The document as it is wanted.
  ///   - original: The document as it was read.
  /// - Returns: What was written.
  /// - Throws: `notFound` when the document was removed or evicted meanwhile; `invalidDocumentID` when the
  ///   two are not the same document; the same as the form without an original.
  @discardableResult
  public func save(_ content: [String: Any?], from original: [String: Any?]) throws -> DunlinSaveResult {
    try save { (try SavedFields(content), try SavedFields(original)) }
  }

  /// Writes what was edited in a document since it was read, without blocking a thread.
  ///
  /// - Throws: The same as the form that blocks, without `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func save(_ content: [String: Any?], from original: [String: Any?]) async throws -> DunlinSaveResult
  {
    try await saving { (try SavedFields(content), try SavedFields(original)) }
  }

  /// Writes what was edited in a value since it was read, and leaves all other fields as they are now.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func save<T: Encodable & Sendable>(_ content: T, from original: T) throws -> DunlinSaveResult {
    try save { (try SavedFields(encoding: content), try SavedFields(encoding: original)) }
  }

  /// Writes what was edited in a value since it was read, without blocking a thread.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func save<T: Encodable & Sendable>(_ content: T, from original: T) async throws -> DunlinSaveResult {
    try await saving { (try SavedFields(encoding: content), try SavedFields(encoding: original)) }
  }

  /// Saves a value, and reads the stored document back into it.
  ///
  /// The value is then equal to the stored document, and its counters have counted nothing since. Use this
  /// form for a value that is edited and saved repeatedly.
  /// - Throws: The same as the form that does not read the value again; `decoding` when the stored document
  ///   does not decode as such a value, and then nothing is written.
  @discardableResult @_disfavoredOverload
  public func save<T: Codable & Sendable>(_ content: inout T) throws -> DunlinSaveResult {
    let value = content
    let saved = try locatingErrors(in: name) { try SavedFields(encoding: value) }
    let ((result, fresh), receipt) = try local.commit(name, as: "save") {
      try $0.saveAndRead(saved, as: T.self)
    }
    content = fresh
    return result.committed(by: receipt)
  }

  /// Saves a value, and reads it again, without blocking a thread.
  ///
  /// - Throws: The same as the form that blocks, without `wouldBlock`; and `CancellationError`.
  @discardableResult @_disfavoredOverload
  public func save<T: Codable & Sendable>(_ content: inout T) async throws -> DunlinSaveResult {
    let value = content
    let saved = try locatingErrors(in: name) { try SavedFields(encoding: value) }
    let ((result, fresh), receipt) = try await local.commit(name) { try $0.saveAndRead(saved, as: T.self) }
    content = fresh
    return result.committed(by: receipt)
  }

  /// Saves the fields that `body` makes of the caller's value and of its original.
  private func save(_ body: () throws -> (SavedFields, SavedFields?)) throws -> DunlinSaveResult {
    let (saved, original) = try locatingErrors(in: name, body)
    let (result, receipt) = try local.commit(name, as: "save") { try $0.save(saved, from: original) }
    return result.committed(by: receipt)
  }

  private func saving(_ body: () throws -> (SavedFields, SavedFields?)) async throws -> DunlinSaveResult {
    let (saved, original) = try locatingErrors(in: name, body)
    let (result, receipt) = try await local.commit(name) { try $0.save(saved, from: original) }
    return result.committed(by: receipt)
  }
}

extension DunlinScopedWriteTransaction {
  /// Makes the stored document equal to these fields, and writes only the differences.
  ///
  /// - Throws: The same as `DunlinCollection.save`; `removedInTransaction` for a document that the
  ///   transaction has removed.
  @discardableResult
  public func save(_ content: [String: Any?]) throws -> DunlinSaveResult {
    try locatingErrors(in: collectionName) { try operations.save(SavedFields(content)) }
  }

  /// Makes the stored document equal to a value, and writes only the differences.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func save(_ content: some Encodable) throws -> DunlinSaveResult {
    try locatingErrors(in: collectionName) { try operations.save(SavedFields(encoding: content)) }
  }

  /// Writes what was edited in a document since it was read, and leaves all other fields as they are now.
  ///
  /// - Throws: The same as `DunlinCollection.save`.
  @discardableResult
  public func save(_ content: [String: Any?], from original: [String: Any?]) throws -> DunlinSaveResult {
    try locatingErrors(in: collectionName) {
      try operations.save(SavedFields(content), from: SavedFields(original))
    }
  }

  /// Writes what was edited in a value since it was read, and leaves all other fields as they are now.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func save<T: Encodable>(_ content: T, from original: T) throws -> DunlinSaveResult {
    try locatingErrors(in: collectionName) {
      try operations.save(SavedFields(encoding: content), from: SavedFields(encoding: original))
    }
  }

  /// Saves a value, and reads it again.
  ///
  /// - Throws: The same as the form that does not read the value again; `decoding` when the stored document
  ///   does not decode as such a value.
  @discardableResult @_disfavoredOverload
  public func save<T: Codable>(_ content: inout T) throws -> DunlinSaveResult {
    let (result, fresh) = try locatingErrors(in: collectionName) {
      try operations.saveAndRead(SavedFields(encoding: content), as: T.self)
    }
    content = fresh
    return result
  }
}
