import CRDTCore
import DocStore
import SyncProtocol

/// Visits all documents of a store that could be synced, and shows how far it has come.
struct DocumentScan {
  /// What the progress says.
  let label: String
  let place: Progress.Place

  /// Documents after which the progress is drawn again.
  private static let step = 512

  /// Visits the living documents, collection by collection, in one snapshot.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - begin: Called before the documents of a collection.
  ///   - visit: Called with the id's bytes and the record of a document of that collection.
  /// - Throws: What the store and the closures throw.
  func run(
    _ store: Store, begin: (DocStore.Collection) throws -> Void,
    visit: (RawSpan, borrowing RecordView) throws -> Void
  ) throws {
    try store.read { transaction in
      let collections = try transaction.collections().filter { SyncProtocol.CollectionName.maySync($0.name) }
      var bar = Progress(
        label, total: collections.reduce(0) { $0 + $1.documentCount }, place: place)
      defer { bar.clear() }
      var count = 0
      for info in collections {
        guard let collection = try transaction.collection(info.name) else { continue }
        try begin(collection)
        try transaction.forEachRecord(in: collection) { id, _, record in
          guard record.isAlive else { return true }
          try visit(id, record)
          count += 1
          if count.isMultiple(of: Self.step) { bar.update(count) }
          return true
        }
      }
    }
  }
}
