public import CRDTCore
import DocStore

/// A collection of documents, by name.
public struct DunlinCollection: Sendable {
  public let name: String
  let local: LocalDatabase

  init(name: String, local: LocalDatabase) {
    self.name = name
    self.local = local
  }

  /// Writes fields into a document, and creates the document if necessary; its other fields stay.
  ///
  /// - Parameters:
  ///   - content: What to write. An `_id` among the fields names the document; without one, an id is
  ///     generated.
  ///   - writeStrategy: How to treat the fields that already exist.
  /// - Returns: The document's id.
  /// - Throws: `unsupportedValue`, `isACounter`, `invalidDocumentID`, `invalidCollectionName`, `limit`,
  ///   `nestedWriteTransaction`, `wouldBlock`, `full`, `io`, `poisoned`, `closed`.
  @discardableResult
  public func upsert(
    _ content: [String: Any?], writeStrategy: DunlinWriteStrategy = .merge
  ) throws -> DunlinDocumentID {
    let written = try locatingErrors(in: name) { try Value.written(content) }
    return try local.write(name, as: "upsert") { try $0.upsert(written, writeStrategy) }
  }

  /// Writes fields into a document without blocking a thread.
  ///
  /// - Throws: The same as the form that blocks, without `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func upsert(
    _ content: [String: Any?], writeStrategy: DunlinWriteStrategy = .merge
  ) async throws -> DunlinDocumentID {
    let written = try locatingErrors(in: name) { try Value.written(content) }
    return try await local.write(name) { try $0.upsert(written, writeStrategy) }
  }

  /// Writes the fields that a value encodes as.
  ///
  /// The log has a hint for a type that is `Identifiable` and whose documents have no `_id`: each write of
  /// such a value makes a new document.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func upsert(
    _ content: some Encodable & Sendable, writeStrategy: DunlinWriteStrategy = .merge
  ) throws -> DunlinDocumentID {
    let written = try locatingErrors(in: name) { try ValueEncoding.fields(content) }
    return try local.write(name, as: "upsert") { try $0.upsert(written, writeStrategy) }
  }

  /// Writes the fields that a value encodes as, without blocking a thread.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func upsert(
    _ content: some Encodable & Sendable, writeStrategy: DunlinWriteStrategy = .merge
  ) async throws -> DunlinDocumentID {
    let written = try locatingErrors(in: name) { try ValueEncoding.fields(content) }
    return try await local.write(name) { try $0.upsert(written, writeStrategy) }
  }

  /// Writes several documents in one transaction: all of them, or none.
  ///
  /// - Parameters:
  ///   - contents: What to write into each document.
  ///   - writeStrategy: How to treat the fields that already exist.
  /// - Returns: The documents' ids, in the same order.
  /// - Throws: The same as the form for one document, with the document's number as `row`, counted from 0.
  @discardableResult
  public func upsert(
    _ contents: [[String: Any?]], writeStrategy: DunlinWriteStrategy = .merge
  ) throws -> [DunlinDocumentID] {
    let written = try locatingErrors(in: name) {
      try WrittenFields.each(of: contents) { try Value.written($0) }
    }
    return try local.write(name, as: "upsert") { try $0.upsert(written, writeStrategy) }
  }

  /// Writes several documents in one transaction, without blocking a thread.
  ///
  /// - Throws: The same as the form that blocks, without `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func upsert(
    _ contents: [[String: Any?]], writeStrategy: DunlinWriteStrategy = .merge
  ) async throws -> [DunlinDocumentID] {
    let written = try locatingErrors(in: name) {
      try WrittenFields.each(of: contents) { try Value.written($0) }
    }
    return try await local.write(name) { try $0.upsert(written, writeStrategy) }
  }

  /// Writes several encoded values as documents in one transaction: all of them, or none.
  ///
  /// - Throws: The same as the form for dictionaries, and what the values' own encoding throws.
  @discardableResult @_disfavoredOverload
  public func upsert<T: Encodable & Sendable>(
    _ contents: [T], writeStrategy: DunlinWriteStrategy = .merge
  ) throws -> [DunlinDocumentID] {
    let written = try locatingErrors(in: name) {
      try WrittenFields.each(of: contents) { try ValueEncoding.fields($0) }
    }
    return try local.write(name, as: "upsert") { try $0.upsert(written, writeStrategy) }
  }

  /// Writes several encoded values as documents in one transaction, without blocking a thread.
  ///
  /// - Throws: The same as the form that blocks, without `wouldBlock`; and `CancellationError`.
  @discardableResult @_disfavoredOverload
  public func upsert<T: Encodable & Sendable>(
    _ contents: [T], writeStrategy: DunlinWriteStrategy = .merge
  ) async throws -> [DunlinDocumentID] {
    let written = try locatingErrors(in: name) {
      try WrittenFields.each(of: contents) { try ValueEncoding.fields($0) }
    }
    return try await local.write(name) { try $0.upsert(written, writeStrategy) }
  }

  /// The documents that a query of the builder language finds, to be read, watched or changed.
  ///
  /// - Parameters:
  ///   - query: For example `color == 'red' && mileage > $args.m`.
  ///   - args: The values of `$args`.
  /// - Returns: A pending operation; its methods read, watch or change the documents.
  public func find(_ query: String, args: [String: Any?] = [:]) -> DunlinPendingCursorOperation {
    DunlinPendingCursorOperation(Finding(collection: name, text: query, arguments: args), local)
  }

  /// The documents that a query of the builder language finds, with an encoded value as `$args`.
  ///
  /// An error of the value's own encoding is thrown where the documents are used.
  @_disfavoredOverload
  public func find(_ query: String, args: some Encodable) -> DunlinPendingCursorOperation {
    DunlinPendingCursorOperation(Finding(collection: name, text: query, arguments: args), local)
  }

  /// All documents, to be read, watched or changed.
  public func findAll() -> DunlinPendingCursorOperation { find("true") }

  /// The document of an id, to be read, watched or changed.
  public func findByID(_ id: DunlinDocumentID) -> DunlinPendingIDSpecificOperation {
    DunlinPendingIDSpecificOperation(id: id, collection: name, local: local)
  }

  /// The document of a string id, to be read, watched or changed.
  public func findByID(_ id: String) -> DunlinPendingIDSpecificOperation {
    findByID(DunlinDocumentID(stringLiteral: id))
  }
}
