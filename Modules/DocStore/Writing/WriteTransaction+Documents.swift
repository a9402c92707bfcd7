public import CRDTCore
import Failpoints

extension WriteTransaction {
  /// Writes fields into a document, or creates the document with them.
  ///
  /// - Parameters:
  ///   - fields: The fields to write; an `_id` among them names the document.
  ///   - id: Names the document instead of an `_id` among the fields.
  ///   - collection: The collection's name; the collection is created if there is none.
  ///   - strategy: How to treat an existing document.
  /// - Returns: The document's id: the given one, or a new one that sorts after earlier new ones.
  /// - Throws: `document`, `invalidCollectionName`, `removedInTransaction`, or what the engine reports.
  @discardableResult
  public func upsert(
    _ fields: [TextKey: Value], id: DocumentID? = nil, into collection: String,
    strategy: WriteStrategy = .merge
  ) throws -> DocumentID {
    let id = try identify(fields, id)
    try change(id, in: collection, as: .upsert, "upsert", mayBeNew: true) { existing, tables in
      var fields = fields
      if StoreDefect.fieldNotWritten.isPlanted, existing != nil, let last = fields.keys.max() {
        fields[last] = nil
      }
      return try DocumentCodec.upsert(
        fields, strategy: strategy, existing: existing, stamping: stamping(), tables: &tables)
    }
    return id
  }

  /// Writes a document from its JSON text, or creates it.
  ///
  /// If the text has only fields that the collection already knows, it is encoded directly into a record.
  ///
  /// - Parameters:
  ///   - json: One JSON object; its `_id` names the document.
  ///   - collection: The collection's name; the collection is created if there is none.
  ///   - strategy: How to treat an existing document.
  ///   - options: How to read the text.
  /// - Returns: The document's id: its `_id`, or a new one.
  /// - Throws: A `JSONError`, and what the form that takes fields throws.
  @discardableResult
  public func upsert(
    json: RawSpan, into collection: String, strategy: WriteStrategy = .merge,
    options: JSON.ReadOptions = .init()
  ) throws -> DocumentID {
    if !findsKnown, let index = index(of: collection) {
      let stamping = stamping()
      let encoded = withTables(of: index) { tables in
        encoder.encode(
          json, isDefault: strategy == .insertDefaultIfAbsent, stamping: stamping, tables: &tables)
      }
      if let encoded {
        let id = DocumentID(trusted: encoded.id)
        try change(id, in: collection, as: .upsert, "upsert", mayBeNew: true) { existing, tables in
          guard let existing else { return encoded.document }
          return try DocumentCodec.upsert(
            try Self.fields(json, options), strategy: strategy, existing: existing, stamping: stamping,
            tables: &tables)
        }
        return id
      }
    }
    return try upsert(try Self.fields(json, options), into: collection, strategy: strategy)
  }

  private static func fields(_ json: RawSpan, _ options: JSON.ReadOptions) throws -> [TextKey: Value] {
    guard case .map(let fields) = try JSON.parse(json, options: options) else {
      throw JSONError(.syntax, "a document must be a JSON object", at: 0)
    }
    return fields
  }

  /// Applies edits to a living document, all or none.
  ///
  /// - Returns: `false` when there is no living document, or the edits change nothing.
  @discardableResult
  public func update(_ id: DocumentID, in collection: String, _ edits: [Edit]) throws -> Bool {
    guard index(of: collection) != nil else { return false }
    var room = exchange(&self.room, with: [])
    return try change(id, in: collection, as: .other, "update") { existing, tables in
      try DocumentCodec.update(
        edits, existing: existing, stamping: stamping(), tables: &tables, in: &room)
    }
  }

  /// Removes a document here and at every peer that syncs it.
  ///
  /// - Returns: `false` when there is no living document.
  @discardableResult
  public func remove(_ id: DocumentID, in collection: String) throws -> Bool {
    guard index(of: collection) != nil else { return false }
    return try change(id, in: collection, as: .remove, "remove") { existing, tables in
      try DocumentCodec.remove(existing: existing, stamping: stamping(), tables: &tables)
    }
  }

  private func identify(_ fields: [TextKey: Value], _ id: DocumentID?) throws(StoreError) -> DocumentID {
    if let id { return id }
    do {
      if let value = fields["_id"] { return try DocumentID(value) }
      return try DocumentID(freshID())
    } catch {
      throw StoreError(error, operation: "upsert")
    }
  }
}
