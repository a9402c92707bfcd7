import CRDTCore
import DocStore

/// One document of a received transaction; its entries are validated during the merge.
struct IncomingDocument: Sendable {
  let collection: String
  let id: DocumentID
  /// The range of its wire form in the transaction's block.
  let wire: Range<Int>
  let isHeld: Bool
  let isReply: Bool
  let isLive: Bool
  let isForwarded: Bool
  /// A check of the sender's state, if the sender included one.
  let check: UInt32?
  let basis: WireBasis
  /// Its record, if it could be made before the write transaction.
  var draft: RecordDraft?
}

/// Documents from the peer that become visible together.
struct IncomingTransaction: Sendable {
  /// Bytes that may hold several transactions.
  let block: [UInt8]
  private(set) var documents: [IncomingDocument]
  let runs: [IncomingRun]
  /// Whether one of the documents requires a particular base.
  let hasDependents: Bool
  /// The range of the transaction in the block.
  let range: Range<Int>
  /// The segment of a large transaction, if this is one.
  let segment: Segment?
  /// Where to stage it, if it is a segment.
  var step: SegmentStep?
  /// How many of this peer's transactions its sender had applied when its first frame came.
  var seen: UInt64 = 0

  var byteCount: Int { range.count }

  /// Bytes of the version vectors of documents with many writers.
  private let vectorBytes: Int
  /// Bytes of the drafted records, which may be many times the received bytes.
  private var draftBytes = 0

  /// Approximate memory besides its block.
  var cost: Int {
    ArrivedTransaction.cost(documents: documentCount, max(byteCount, draftBytes) + vectorBytes)
  }

  /// The number of documents, including those in runs.
  var documentCount: Int { runs.reduce(documents.count) { $0 + $1.ids.count } }

  /// Whether it is a commit sent by eager push.
  var isLive: Bool { runs.first?.isLive ?? documents.first?.isLive ?? false }
  /// Whether the sender forwarded the commit from another peer.
  var isForwarded: Bool { runs.first?.isForwarded ?? documents.first?.isForwarded ?? false }

  /// Whether it is no segment, and has no runs.
  private var isPlain: Bool { segment == nil && runs.isEmpty }

  /// Returns whether it has no documents other than those of another transaction, if both have few.
  func changesOnly(documentsOf other: IncomingTransaction) -> Bool {
    guard isPlain, other.isPlain, other.documents.count <= 4, documents.count <= other.documents.count else {
      return false
    }
    return documents.allSatisfy { document in
      other.documents.contains { $0.id == document.id && $0.collection.isSame(as: document.collection) }
    }
  }

  /// Calls `body` with the collection and id of each document, those in runs first.
  func forEachName(_ body: (String, DocumentID) throws -> Void) rethrows {
    for run in runs { for id in run.ids { try body(run.collection, id) } }
    for document in documents { try body(document.collection, document.id) }
  }

  /// Decodes the transaction in `range` of `block`, except the entries of the documents.
  ///
  /// Documents of collections that `accepts` rejects are left out.
  init(
    _ block: [UInt8], _ range: Range<Int>, accepts: (String) -> Bool
  ) throws(CodecError) {
    var reader = ByteReader(block.span.bytes.extracting(range))
    var count = try reader.readCount(minimumBytes: 6)
    var runs: [IncomingRun] = []
    var runDocuments = 0
    var segment: Segment?
    if count == 0 {
      switch try reader.readByte() {
      case TransactionEncoder.runsForm:
        runs = try Self.readRuns(&reader)
        runDocuments = runs.reduce(0) { $0 + $1.ids.count }
        runs.removeAll { !accepts($0.collection) }
      case TransactionEncoder.segmentForm: segment = try Segment(from: &reader)
      default: throw reader.failure(.malformed, "a group is of an unknown form")
      }
      count = try reader.readCount(minimumBytes: 6)
    }
    guard count + runDocuments <= SyncLimits.transactionDocuments else {
      throw reader.failure(.limit, "a group of \(count + runDocuments) documents")
    }
    var documents: [IncomingDocument] = []
    documents.reserveCapacity(count)
    var previous: String?
    var hasDependents = false
    var vectorBytes = 0
    var accepted: (collection: String, isAccepted: Bool)?
    var contents = reader
    // In a segment, the heads of all documents precede all contents.
    let isInColumns = segment != nil
    if isInColumns { for _ in 0..<count { try contents.skipDocumentHead() } }
    for _ in 0..<count {
      let collection = try reader.readCollection(after: &previous)
      if accepted?.collection.isSame(as: collection) != true { accepted = (collection, accepts(collection)) }
      let id = try reader.readDocumentID()
      let flags = try reader.readByte()
      guard flags & ~TransactionEncoder.knownFlags == 0 else {
        throw reader.failure(.malformed, "a document has unknown flags")
      }
      let check: UInt32? = flags & TransactionEncoder.checkFlag != 0 ? try reader.readFixed() : nil
      let wire = isInColumns ? try contents.readBlob() : try reader.readBlob()
      let end = isInColumns ? contents.offset : reader.offset
      let start = range.lowerBound + end - wire.byteCount
      guard accepted?.isAccepted ?? false else { continue }
      let basis: WireBasis
      do {
        basis = try WireDocument.basis(wire, like: documents.last?.basis)
      } catch {
        throw CodecError(error.code, error.message, at: end - wire.byteCount + error.offset)
      }
      if !basis.isSelfContained { hasDependents = true }
      vectorBytes += basis.vectorBytes
      if segment != nil, case .state = basis {
        throw reader.failure(.malformed, "a part of a group has a successor")
      }
      documents.append(
        IncomingDocument(
          collection: collection, id: id, wire: start..<start + wire.byteCount,
          isHeld: flags & TransactionEncoder.heldFlag != 0,
          isReply: flags & TransactionEncoder.replyFlag != 0,
          isLive: flags & TransactionEncoder.liveFlag != 0,
          isForwarded: flags & TransactionEncoder.forwardedFlag != 0, check: check, basis: basis))
    }
    if isInColumns { try contents.expectEnd() } else { try reader.expectEnd() }
    self.block = block
    self.documents = documents
    self.runs = runs
    self.hasDependents = hasDependents
    self.vectorBytes = vectorBytes
    self.range = range
    self.segment = segment
  }

  /// Removes documents, except those in runs.
  mutating func removeDocuments(where body: (IncomingDocument) throws -> Bool) rethrows {
    try documents.removeAll(where: body)
  }

  /// Drafts the records of documents that may be new here, while the writer is busy.
  mutating func makeDrafts(with drafter: inout RecordDrafter) {
    let block = block
    drafter.refresh()
    for index in documents.indices {
      let draft = drafter.draft(
        block.span.bytes.extracting(documents[index].wire), in: documents[index].collection)
      draftBytes += draft?.byteCount ?? 0
      documents[index].draft = draft
    }
  }

  private static func readRuns(_ reader: inout ByteReader) throws(CodecError) -> [IncomingRun] {
    let count = try reader.readCount(minimumBytes: 42)
    guard count > 0 else { throw reader.failure(.malformed, "a group has no runs") }
    var runs: [IncomingRun] = []
    var documents = 0
    var previous: String?
    for _ in 0..<count {
      let run = try IncomingRun(
        from: &reader, after: &previous, limit: SyncLimits.transactionDocuments - documents)
      documents += run.ids.count
      runs.append(run)
    }
    return runs
  }
}

extension WireBasis {
  /// The memory of its vectors, if they are longer than those of most documents.
  fileprivate var vectorBytes: Int {
    guard case .vectors(let base, let vector, _) = self else { return 0 }
    let count = base.elements.count + vector.elements.count
    return count > 2 ? count * MemoryLayout<VersionVector.Element>.stride : 0
  }
}
