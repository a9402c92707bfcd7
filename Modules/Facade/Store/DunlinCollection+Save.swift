import CRDTCore

extension DunlinCollection {
  /// Makes the stored document equal to these fields, and writes only what differs from what stands.
  ///
  /// Beside `upsert`, which merges: fields that are left out here are removed, in maps at any depth too. What is equal is
  /// not written, so that edits of it at other peers win; where nothing differs there is no commit. An array is one value.
  /// Over a counter that stands a number counts the difference, and a counter that was read adds what it has counted since.
  /// - Parameter content: The whole document; an `_id` among it names the document, else one is made.
  /// - Returns: What was written.
  /// - Throws: `unsupportedValue`, `isACounter` for a fraction over a counter, `invalidDocumentID`, `invalidCollectionName`,
  ///   `limit`, `nestedWriteTransaction`, `wouldBlock`, `full`, `io`, `poisoned`, `closed`.
  @discardableResult
  public func save(_ content: [String: Any?]) throws -> DunlinSaveResult {
    try save { (try SavedFields(content), nil) }
  }

  /// Makes the stored document equal to these fields, without blocking a thread.
  ///
  /// - Throws: As the form that blocks, but for `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func save(_ content: [String: Any?]) async throws -> DunlinSaveResult {
    try await saving { (try SavedFields(content), nil) }
  }

  /// Makes the stored document equal to a value, and writes only what differs from what stands.
  ///
  /// Fields that its type does not know are removed: where a newer release of the application may have written some, save
  /// with what it was (`from:`). A `nil` that is left out removes a field, but for a null, which it was read from.
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func save(_ content: some Encodable & Sendable) throws -> DunlinSaveResult {
    try save { (try SavedFields(encoding: content), nil) }
  }

  /// Makes the stored document equal to a value, without blocking a thread.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func save(_ content: some Encodable & Sendable) async throws -> DunlinSaveResult {
    try await saving { (try SavedFields(encoding: content), nil) }
  }

  /// Writes what was edited in a document since it was read, and leaves all else as it stands by now.
  ///
  /// Where `content` and `original` are the same, nothing is written, whatever others have written there meanwhile; fields
  /// that neither has stay. A number over a counter counts how far it has come from the original.
  /// - Parameters:
  ///   - content: The document as it is wanted.
  ///   - original: The document as it was read.
  /// - Returns: What was written.
  /// - Throws: `notFound` when the document was removed or evicted meanwhile; `invalidDocumentID` when the two are not one
  ///   document; as the form without an original.
  @discardableResult
  public func save(_ content: [String: Any?], from original: [String: Any?]) throws -> DunlinSaveResult {
    try save { (try SavedFields(content), try SavedFields(original)) }
  }

  /// Writes what was edited in a document since it was read, without blocking a thread.
  ///
  /// - Throws: As the form that blocks, but for `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func save(_ content: [String: Any?], from original: [String: Any?]) async throws -> DunlinSaveResult
  {
    try await saving { (try SavedFields(content), try SavedFields(original)) }
  }

  /// Writes what was edited in a value since it was read, and leaves all else as it stands by now.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func save<T: Encodable & Sendable>(_ content: T, from original: T) throws -> DunlinSaveResult {
    try save { (try SavedFields(encoding: content), try SavedFields(encoding: original)) }
  }

  /// Writes what was edited in a value since it was read, without blocking a thread.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func save<T: Encodable & Sendable>(_ content: T, from original: T) async throws -> DunlinSaveResult {
    try await saving { (try SavedFields(encoding: content), try SavedFields(encoding: original)) }
  }

  /// Saves a value, and reads it again: it is then what stands, with counters that have counted nothing since.
  ///
  /// It is the form for a value that is edited and saved again and again.
  /// - Throws: As the form that does not read it again; `decoding` when what stands then is no such value, and nothing is
  ///   written.
  @discardableResult @_disfavoredOverload
  public func save<T: Codable & Sendable>(_ content: inout T) throws -> DunlinSaveResult {
    let value = content
    let saved = try locatingErrors(in: name) { try SavedFields(encoding: value) }
    let ((result, fresh), receipt) = try core.commit(name, as: "save") {
      try $0.saveAndRead(saved, as: T.self)
    }
    content = fresh
    return result.committed(by: receipt)
  }

  /// Saves a value, and reads it again, without blocking a thread.
  ///
  /// - Throws: As the form that blocks, but for `wouldBlock`; and `CancellationError`.
  @discardableResult @_disfavoredOverload
  public func save<T: Codable & Sendable>(_ content: inout T) async throws -> DunlinSaveResult {
    let value = content
    let saved = try locatingErrors(in: name) { try SavedFields(encoding: value) }
    let ((result, fresh), receipt) = try await core.commit(name) { try $0.saveAndRead(saved, as: T.self) }
    content = fresh
    return result.committed(by: receipt)
  }

  /// Saves what `body` makes of the caller's value, and of what it was.
  private func save(_ body: () throws -> (SavedFields, SavedFields?)) throws -> DunlinSaveResult {
    let (saved, original) = try locatingErrors(in: name, body)
    let (result, receipt) = try core.commit(name, as: "save") { try $0.save(saved, from: original) }
    return result.committed(by: receipt)
  }

  private func saving(_ body: () throws -> (SavedFields, SavedFields?)) async throws -> DunlinSaveResult {
    let (saved, original) = try locatingErrors(in: name, body)
    let (result, receipt) = try await core.commit(name) { try $0.save(saved, from: original) }
    return result.committed(by: receipt)
  }
}

extension DunlinScopedWriteTransaction {
  /// Makes the stored document equal to these fields, and writes only what differs from what stands.
  ///
  /// - Throws: As `DunlinCollection.save`; `removedInTransaction` for a document that the transaction has removed.
  @discardableResult
  public func save(_ content: [String: Any?]) throws -> DunlinSaveResult {
    try locatingErrors(in: collectionName) { try operations.save(SavedFields(content)) }
  }

  /// Makes the stored document equal to a value, and writes only what differs from what stands.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func save(_ content: some Encodable) throws -> DunlinSaveResult {
    try locatingErrors(in: collectionName) { try operations.save(SavedFields(encoding: content)) }
  }

  /// Writes what was edited in a document since it was read, and leaves all else as it stands by now.
  ///
  /// - Throws: As `DunlinCollection.save`.
  @discardableResult
  public func save(_ content: [String: Any?], from original: [String: Any?]) throws -> DunlinSaveResult {
    try locatingErrors(in: collectionName) {
      try operations.save(SavedFields(content), from: SavedFields(original))
    }
  }

  /// Writes what was edited in a value since it was read, and leaves all else as it stands by now.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func save<T: Encodable>(_ content: T, from original: T) throws -> DunlinSaveResult {
    try locatingErrors(in: collectionName) {
      try operations.save(SavedFields(encoding: content), from: SavedFields(encoding: original))
    }
  }

  /// Saves a value, and reads it again.
  ///
  /// - Throws: As the form that does not read it again; `decoding` when what stands then is no such value.
  @discardableResult @_disfavoredOverload
  public func save<T: Codable>(_ content: inout T) throws -> DunlinSaveResult {
    let (result, fresh) = try locatingErrors(in: collectionName) {
      try operations.saveAndRead(SavedFields(encoding: content), as: T.self)
    }
    content = fresh
    return result
  }
}
