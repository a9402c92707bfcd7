import CRDTCore
import DocStore

/// One document of a group from the peer; its entries are validated when they are merged.
struct IncomingDocument: Sendable {
  let collection: String
  let id: DocumentID
  /// Where its wire form lies in the group's block.
  let wire: Range<Int>
  let isHeld: Bool
  let isReply: Bool
  let isLive: Bool
  let isForwarded: Bool
  let basis: WireBasis
  /// Its record, where that could be made before the write transaction.
  var draft: RecordDraft?
}

/// Documents from the peer that become visible together.
struct IncomingGroup: Sendable {
  /// Bytes that may hold several groups.
  let block: [UInt8]
  private(set) var documents: [IncomingDocument]
  let byteCount: Int

  /// Reads the group that lies in `range` of `block`, all but the documents' entries.
  ///
  /// Documents of collections that `accepts` denies are left out.
  init(
    _ block: [UInt8], _ range: Range<Int>, accepts: (String) -> Bool
  ) throws(CodecError) {
    var reader = ByteReader(block.span.bytes.extracting(range))
    let count = try reader.readCount(minimumBytes: 6)
    guard count >= 1, count <= SyncLimits.groupDocuments else {
      throw reader.failure(.limit, "a group of \(count) documents")
    }
    var documents: [IncomingDocument] = []
    documents.reserveCapacity(count)
    var previous: String?
    for _ in 0..<count {
      let collection = try reader.readCollection(after: &previous)
      let id = try reader.readDocumentID()
      let flags = try reader.readByte()
      guard flags & ~GroupEncoder.knownFlags == 0 else {
        throw reader.failure(.malformed, "a document has unknown flags")
      }
      let wire = try reader.readBlob()
      let start = range.lowerBound + reader.offset - wire.byteCount
      guard accepts(collection) else { continue }
      let basis: WireBasis
      do {
        basis = try WireDocument.basis(wire)
      } catch {
        throw CodecError(error.code, error.message, at: reader.offset - wire.byteCount + error.offset)
      }
      documents.append(
        IncomingDocument(
          collection: collection, id: id, wire: start..<start + wire.byteCount,
          isHeld: flags & GroupEncoder.heldFlag != 0, isReply: flags & GroupEncoder.replyFlag != 0,
          isLive: flags & GroupEncoder.liveFlag != 0,
          isForwarded: flags & GroupEncoder.forwardedFlag != 0, basis: basis))
    }
    try reader.expectEnd()
    self.block = block
    self.documents = documents
    byteCount = range.count
  }
  /// Makes records of documents that may be new here, while the writer is busy with others.
  mutating func makeDrafts(with drafter: inout RecordDrafter) {
    let block = block
    for index in documents.indices {
      let document = documents[index]
      documents[index].draft = drafter.draft(
        block.span.bytes.extracting(document.wire), in: document.collection)
    }
  }
}
