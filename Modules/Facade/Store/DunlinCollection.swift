public import CRDTCore
import DocStore

/// A collection of documents, by name.
public struct DunlinCollection: Sendable {
  public let name: String
  let core: Core

  init(name: String, core: Core) {
    self.name = name
    self.core = core
  }

  /// Writes fields into a document, which is made if need be; other fields of it stay.
  ///
  /// - Parameters:
  ///   - content: What to write; an `_id` among it names the document, else one is made.
  ///   - writeStrategy: How to treat what is there.
  /// - Returns: The document's id.
  /// - Throws: `unsupportedValue`, `isACounter`, `invalidDocumentID`, `invalidCollectionName`, `limit`,
  ///   `nestedWriteTransaction`, `wouldBlock`, `full`, `io`, `poisoned`, `closed`.
  @discardableResult
  public func upsert(
    _ content: [String: Any?], writeStrategy: DunlinWriteStrategy = .merge
  ) throws -> DunlinDocumentID {
    let written = try locatingErrors(in: name) { try Value.written(content) }
    return try core.write(name, as: "upsert") { try $0.upsert(written, writeStrategy) }
  }

  /// Writes fields into a document without blocking a thread.
  ///
  /// - Throws: As the form that blocks, but for `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func upsert(
    _ content: [String: Any?], writeStrategy: DunlinWriteStrategy = .merge
  ) async throws -> DunlinDocumentID {
    let written = try locatingErrors(in: name) { try Value.written(content) }
    return try await core.write(name) { try $0.upsert(written, writeStrategy) }
  }

  /// Writes the fields that a value encodes as.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func upsert(
    _ content: some Encodable & Sendable, writeStrategy: DunlinWriteStrategy = .merge
  ) throws -> DunlinDocumentID {
    let written = try locatingErrors(in: name) { try ValueEncoding.fields(content) }
    return try core.write(name, as: "upsert") { try $0.upsert(written, writeStrategy) }
  }

  /// Writes the fields that a value encodes as, without blocking a thread.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func upsert(
    _ content: some Encodable & Sendable, writeStrategy: DunlinWriteStrategy = .merge
  ) async throws -> DunlinDocumentID {
    let written = try locatingErrors(in: name) { try ValueEncoding.fields(content) }
    return try await core.write(name) { try $0.upsert(written, writeStrategy) }
  }

  /// The documents that a query of the builder language finds, to be read, watched or changed.
  ///
  /// - Parameters:
  ///   - query: For example `color == 'red' && mileage > $args.m`.
  ///   - args: The values of `$args`.
  /// - Returns: What to do with the documents is said on this.
  public func find(_ query: String, args: [String: Any?] = [:]) -> DunlinPendingCursorOperation {
    DunlinPendingCursorOperation(Finding(collection: name, text: query, arguments: args), core)
  }

  /// The documents that a query of the builder language finds, with the fields that a value encodes as `$args`.
  ///
  /// What the value's own encoding throws is thrown where the documents are used.
  @_disfavoredOverload
  public func find(_ query: String, args: some Encodable) -> DunlinPendingCursorOperation {
    DunlinPendingCursorOperation(Finding(collection: name, text: query, arguments: args), core)
  }

  /// All documents, to be read, watched or changed.
  public func findAll() -> DunlinPendingCursorOperation { find("true") }

  /// The document of an id, to be read, watched or changed.
  public func findByID(_ id: DunlinDocumentID) -> DunlinPendingIDSpecificOperation {
    DunlinPendingIDSpecificOperation(id: id, collection: name, core: core)
  }

  /// The document of a string id, to be read, watched or changed.
  public func findByID(_ id: String) -> DunlinPendingIDSpecificOperation {
    findByID(DunlinDocumentID(stringLiteral: id))
  }
}
