public import CRDTCore
import Failpoints

extension WriteTransaction {
  /// Writes fields into a document, which is made if need be.
  ///
  /// - Parameters:
  ///   - fields: What to write; an `_id` among them names the document.
  ///   - id: Names the document in place of an `_id` among the fields.
  ///   - collection: The collection's name; it is made if need be.
  ///   - strategy: How to treat what is there.
  /// - Returns: The document's id: the given one, or a fresh one that sorts after those made before.
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

  /// Writes a document from its JSON text, which is made if need be.
  ///
  /// A text with the fields that the collection's documents have becomes a record without the detour by values.
  ///
  /// - Parameters:
  ///   - json: One JSON object; its `_id` names the document.
  ///   - collection: The collection's name; it is made if need be.
  ///   - strategy: How to treat what is there.
  ///   - options: How to read the text.
  /// - Returns: The document's id: its `_id`, or a fresh one.
  /// - Throws: A `JSONError`; else as the form that takes fields.
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
  /// - Returns: `false` when there is no living document, or nothing in it changes.
  @discardableResult
  public func update(_ id: DocumentID, in collection: String, _ edits: [Edit]) throws -> Bool {
    guard index(of: collection) != nil else { return false }
    var room = exchange(&self.room, with: [])
    return try change(id, in: collection, as: .other, "update") { existing, tables in
      try DocumentCodec.update(
        edits, existing: existing, stamping: stamping(), tables: &tables, in: &room)
    }
  }

  /// Deletes a document here and at every peer that syncs it.
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
