import CRDTCore
import DocStore

/// What matching and encoding the records of one collection needs, looked up once for a snapshot.
///
/// It is a class: a struct would retain each of its members for each document.
final class Source {
  let collection: Collection
  let tables: RecordTables
  /// What the peer subscribes to in the collection.
  let matcher: CollectionInterest
  /// What this peer itself subscribes to in the collection.
  let own: CollectionInterest?
  /// The part of the collection that this reconciliation sends without requests.
  let streamed: RangeSet.Coverage
  private let oversize: [DocumentKey: Int]

  fileprivate init(
    collection: Collection, tables: RecordTables, matcher: CollectionInterest, own: CollectionInterest?,
    streamed: RangeSet.Coverage, oversize: [DocumentKey: Int]
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

  /// Returns the canonical size in bytes of a document that is too large to be sent; `nil` for any other.
  func oversizeBytes(of id: RawSpan) -> Int? { oversize.isEmpty ? nil : oversize[key(of: id)] }

  /// The flags of a document: whether it matches this peer's own interest.
  func flags(_ id: RawSpan, _ record: borrowing RecordView) -> UInt8 {
    own?.matches(id, record) == true ? TransactionEncoder.heldFlag : 0
  }
}

/// The documents of a store that are too large to be sent, cached until the next commit.
struct OversizeSizes {
  private var sequence: UInt64?
  private var sizes: [DocumentKey: Int] = [:]

  /// Returns their canonical sizes in bytes.
  mutating func sizes(_ snapshot: borrowing ReadTransaction) throws -> [DocumentKey: Int] {
    guard sequence != snapshot.sequence else { return sizes }
    sizes = [:]
    for document in try snapshot.oversizeDocuments() {
      if let collection = try snapshot.collection(document.collection) {
        sizes[DocumentKey(collection: collection.id, id: document.id)] = document.byteCount
      }
    }
    sequence = snapshot.sequence
    return sizes
  }
}

/// The sources of the collections in one snapshot, for one session.
struct Sources {
  private let peer: ServedPeer
  private var known: [UInt32: Source?] = [:]

  init(_ peer: ServedPeer) { self.peer = peer }

  /// - Returns: `nil` for a collection that this session does not send.
  mutating func source(
    _ number: UInt32, _ snapshot: borrowing ReadTransaction
  ) throws -> Source? {
    if let known = known[number] { return known }
    return try make(try snapshot.collection(number: number), number, snapshot)
  }

  mutating func source(_ name: String, _ snapshot: borrowing ReadTransaction) throws -> Source? {
    guard let collection = try snapshot.collection(name) else { return nil }
    if let known = known[collection.id] { return known }
    return try make(collection, collection.id, snapshot)
  }

  /// Visits the intact records of documents that this session may send, in ascending order of their places.
  mutating func forEachIntactRecord(
    at places: some Sequence<StoredPlace>, _ snapshot: borrowing ReadTransaction,
    _ body: (
      _ source: Source, _ place: StoredPlace, _ id: RawSpan, _ summary: Summary,
      _ record: borrowing RecordView
    ) throws -> Void
  ) throws {
    var rest = DocumentRun.runs(of: places)[...]
    while let collection = rest.first?.collection {
      let runs = rest.prefix { $0.collection == collection }
      rest = rest.dropFirst(runs.count)
      guard let source = try source(collection, snapshot) else { continue }
      try snapshot.forEachIntactRecord(
        in: source.collection, runs: runs, damaged: peer.context.reportDamaged
      ) { number, id, summary, record in
        try body(source, StoredPlace(collection: collection, number: number), id, summary, record)
        return true
      }
    }
  }

  private mutating func make(
    _ collection: Collection?, _ number: UInt32, _ snapshot: borrowing ReadTransaction
  ) throws -> Source? {
    var source: Source?
    if let collection, peer.concerns(collection.name),
      let matcher = peer.interest.matcher(for: collection)
    {
      source = Source(
        collection: collection, tables: RecordTables(keys: collection.keys, sites: snapshot.sites),
        matcher: matcher, own: peer.ownInterest(collection),
        streamed: peer.reconciliation.streams.coverage(of: collection.name),
        oversize: try peer.oversizeSizes(snapshot))
    }
    known[number] = .some(source)
    return source
  }
}
