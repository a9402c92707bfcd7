package import CRDTCore
package import DocStore
import SyncProtocol

/// What judges the documents of a store by rules, one after the other.
package protocol RulesJudge {
  /// Begins with the documents of a collection.
  mutating func begin(_ collection: DocStore.Collection)

  /// Goes on with the documents of a collection, in a later snapshot.
  ///
  /// Documents may have names of fields that the collection did not have before.
  mutating func resume(_ collection: DocStore.Collection)

  /// Judges a document of the collection.
  ///
  /// - Parameters:
  ///   - id: The bytes of its id.
  ///   - record: The document, which is no tombstone.
  /// - Throws: What reading it throws.
  mutating func judge(_ id: RawSpan, _ record: borrowing RecordView) throws
}

/// Visits all documents of a store that could be synced, a page at a time.
///
/// Between two pages no snapshot is kept, so that a long scan keeps no pages of the file. Each document is
/// judged once, as it was when its page was read. Documents that arrive meanwhile may be left out.
package struct RulesScan: Sendable {
  /// The most records of a page, tombstones included.
  package static let pageRecords = 512

  private let store: Store
  /// The names of the collections that are left; the first one is being read.
  private var names: [String]
  /// The id of the last record read in the first of them; `nil` before its first page.
  private var last: [UInt8]?
  /// The documents that were judged.
  package private(set) var count = 0
  /// The documents that there were at the beginning.
  package let total: Int

  /// Begins with the first document.
  ///
  /// - Parameter store: The store.
  /// - Throws: `StoreError`.
  package init(_ store: Store) throws {
    self.store = store
    let all = try store.read { transaction in
      try transaction.collections().filter { CollectionName.maySync($0.name) }
        .map { (name: $0.name, count: $0.documentCount) }
    }
    names = all.map(\.name)
    total = all.reduce(0) { $0 + $1.count }
  }

  /// Whether all documents were judged.
  package var isComplete: Bool { names.isEmpty }

  /// Judges the next page.
  ///
  /// - Parameter judge: Judges the documents.
  /// - Returns: Whether there is more.
  /// - Throws: What the store and the judge throw.
  package mutating func next(_ judge: inout some RulesJudge) throws -> Bool {
    guard let name = names.first else { return false }
    let start = last
    var (read, living, end): (Int, Int, [UInt8]?) = (0, 0, nil)
    try store.read { transaction in
      guard let collection = try transaction.collection(name) else { return }
      if start == nil { judge.begin(collection) } else { judge.resume(collection) }
      try transaction.forEachRecord(in: collection, from: start) { id, _, record in
        if let start, start.span.bytes.isEqual(to: id) { return true }
        if record.isAlive {
          try judge.judge(id, record)
          living += 1
        }
        read += 1
        guard read == Self.pageRecords else { return true }
        var writer = ByteWriter()
        writer.write(id)
        end = writer.bytes
        return false
      }
    }
    count += living
    last = end
    if end == nil { names.removeFirst() }
    return !names.isEmpty
  }
}
