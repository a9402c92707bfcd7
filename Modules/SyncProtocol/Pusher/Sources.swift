import CRDTCore
import DocStore

/// What the records of one collection need to be matched and encoded, taken once for a snapshot.
///
/// An object, for all that it holds would be counted anew for each document.
final class Source {
  let collection: Collection
  let tables: RecordTables
  /// What of it the peer subscribes to.
  let matcher: CollectionInterest
  /// What of it this peer subscribes to itself.
  let own: CollectionInterest?
  /// What of it goes out unasked in this reconciliation.
  let streamed: RangeSet.Part
  private let oversize: [DocumentKey: Int]

  fileprivate init(
    collection: Collection, tables: RecordTables, matcher: CollectionInterest, own: CollectionInterest?,
    streamed: RangeSet.Part, oversize: [DocumentKey: Int]
  ) {
    self.collection = collection
    self.tables = tables
    self.matcher = matcher
    self.own = own
    self.streamed = streamed
    self.oversize = oversize
  }

  func key(of id: RawSpan) -> DocumentKey {
    DocumentKey(collection: collection.id, id: DocumentID(trusted: id.copied))
  }

  /// The canonical size in bytes of a document that is too large to be sent; `nil` for one that is not.
  func oversizeBytes(of id: RawSpan) -> Int? { oversize.isEmpty ? nil : oversize[key(of: id)] }

  /// What the receiver is told of a document: whether it is held here under this peer's own interest.
  func flags(_ id: RawSpan, _ record: borrowing RecordView) -> UInt8 {
    own?.matches(id, record) == true ? GroupEncoder.heldFlag : 0
  }
}

/// The documents of a store that are too large to be sent, kept from one snapshot to the next of the same commit.
struct OversizeSizes {
  private var sequence: UInt64?
  private var sizes: [DocumentKey: Int] = [:]

  /// Their canonical sizes in bytes.
  mutating func sizes(_ transaction: borrowing ReadTransaction) throws -> [DocumentKey: Int] {
    guard sequence != transaction.sequence else { return sizes }
    sizes = [:]
    for document in try transaction.oversizeDocuments() {
      if let collection = try transaction.collection(document.collection) {
        sizes[DocumentKey(collection: collection.id, id: document.id)] = document.byteCount
      }
    }
    sequence = transaction.sequence
    return sizes
  }
}

/// The sources of the collections that a snapshot is read in for one session.
struct Sources {
  private let pusher: Pusher
  private var known: [UInt32: Source?] = [:]

  init(_ pusher: Pusher) { self.pusher = pusher }

  /// - Returns: `nil` for a collection that the session has nothing to do with.
  mutating func source(
    _ number: UInt32, _ transaction: borrowing ReadTransaction
  ) throws -> Source? {
    if let known = known[number] { return known }
    return try make(try transaction.collection(number: number), number, transaction)
  }

  mutating func source(_ name: String, _ transaction: borrowing ReadTransaction) throws -> Source? {
    guard let collection = try transaction.collection(name) else { return nil }
    if let known = known[collection.id] { return known }
    return try make(collection, collection.id, transaction)
  }

  /// Visits the intact records of documents that the session has to do with, by ascending places.
  mutating func forEachIntactRecord(
    at places: some Sequence<StoredPlace>, _ transaction: borrowing ReadTransaction,
    _ body: (
      _ source: Source, _ place: StoredPlace, _ id: RawSpan, _ summary: Summary,
      _ record: borrowing RecordView
    ) throws -> Void
  ) throws {
    var rest = DocumentRun.runs(of: places)[...]
    while let collection = rest.first?.collection {
      let runs = rest.prefix { $0.collection == collection }
      rest = rest.dropFirst(runs.count)
      guard let source = try source(collection, transaction) else { continue }
      try transaction.forEachIntactRecord(
        in: source.collection, runs: runs, damaged: pusher.context.tellDamaged
      ) { number, id, summary, record in
        try body(source, StoredPlace(collection: collection, number: number), id, summary, record)
        return true
      }
    }
  }

  private mutating func make(
    _ collection: Collection?, _ number: UInt32, _ transaction: borrowing ReadTransaction
  ) throws -> Source? {
    var source: Source?
    if let collection, pusher.concerns(collection.name),
      let matcher = pusher.interest.matcher(for: collection)
    {
      source = Source(
        collection: collection, tables: RecordTables(keys: collection.keys, sites: transaction.sites),
        matcher: matcher, own: pusher.ownInterest(collection),
        streamed: pusher.reconciliation.streams.part(of: collection.name),
        oversize: try pusher.oversize.sizes(transaction))
    }
    known[number] = .some(source)
    return source
  }
}
