import CRDTCore
package import DocStore

/// The state of the collections that a statement names, in one snapshot.
///
/// It is a value, so that planning is a pure function of the statement, its arguments and the catalogue.
package struct QueryCatalogue: Hashable, Sendable {
  /// A collection that was written at least once.
  package struct Entry: Hashable, Sendable {
    package var collection: DocStore.Collection
    /// The indexes that are ready for queries, oldest first.
    package var indexes: [IndexInfo]
    /// The number of documents without tombstones; it is not read where there is no index to choose.
    package var documentCount = 0
  }

  private var entries: [TextKey: Entry] = [:]
  /// The collections that were never written, in the order of the text.
  private(set) var unknown: [UnknownCollection] = []

  /// The catalogue of no collections: plans made with it use no index.
  package static let empty = QueryCatalogue()

  private init() {}

  /// Reads the state of some collections; unknown and virtual ones have no entry.
  package init(_ names: [String], in source: borrowing some RecordSource & ~Copyable) throws {
    var missing: [TextKey] = []
    for name in names where entries[name] == nil {
      guard let collection = try source.collection(name) else {
        if Self.isOrdinary(name), !missing.contains(TextKey(name)) { missing.append(TextKey(name)) }
        continue
      }
      let indexes = try source.readyIndexes(of: collection)
      let count = indexes.isEmpty ? 0 : try source.documentCount(of: collection)
      entries[name] = Entry(collection: collection, indexes: indexes, documentCount: count)
    }
    guard !missing.isEmpty else { return }
    let known = try source.collections().map(\.name)
    unknown = missing.map {
      UnknownCollection(name: $0, nearest: NameDistance.nearest(to: $0.text, among: known))
    }
  }

  /// Whether it is neither a virtual collection nor one of those whose names are reserved.
  private static func isOrdinary(_ name: String) -> Bool {
    !["__", "system:"].contains { name.utf8.starts(with: $0.utf8) }
      && (try? SystemCollection.named(name)) == nil
  }

  /// Whether plans made from it are still good, if names and indexes are the same.
  ///
  /// They are if the collections with indexes have about as many documents as before.
  func isStillRight(in source: borrowing some RecordSource & ~Copyable) throws -> Bool {
    for entry in entries.values where !entry.indexes.isEmpty {
      let count = try source.documentCount(of: entry.collection)
      guard count / 2 <= entry.documentCount, entry.documentCount / 2 <= count else { return false }
    }
    return true
  }

  package subscript(name: String) -> Entry? { entries[name] }
}

extension Statement {
  /// The collections that the statement reads or writes.
  var collections: [String] {
    switch self {
    case .select(let select): [select.collection] + select.joins.map(\.source.collection)
    case .insert(let insert):
      if case .query(let select) = insert.content {
        [insert.collection] + Statement.select(select).collections
      } else {
        [insert.collection]
      }
    case .update(let update): [update.collection]
    case .delete(let removal), .evict(let removal): [removal.collection]
    case .explain(let statement), .profile(let statement), .advise(let statement, _): statement.collections
    case .createIndex(let index): [index.collection]
    case .dropIndex(let index): [index.collection]
    case .compound: selects.flatMap { Statement.select($0).collections }
    case .alterSystem, .show: []
    }
  }
}
