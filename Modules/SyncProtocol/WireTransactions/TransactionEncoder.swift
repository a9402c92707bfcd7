import CRDTCore

/// Encodes documents that have to become visible together.
struct TransactionEncoder {
  /// The sender holds the document under its own interest, and wants the receiver to send back what it lacks.
  static let heldFlag: UInt8 = 1
  /// The document answers one of the receiver's, so default data is not sent back again.
  static let replyFlag: UInt8 = 2
  /// The transaction is a commit sent by eager push.
  static let liveFlag: UInt8 = 4
  /// The commit came from another peer.
  static let forwardedFlag: UInt8 = 8
  /// A check of the sender's state follows the flags.
  static let checkFlag: UInt8 = 16
  static let knownFlags: UInt8 = 31
  /// The flags that a run may have; a run never answers anything.
  static let runFlags: UInt8 = heldFlag | liveFlag | forwardedFlag
  /// Memory that is kept for the next transaction.
  private static let keptBytes = 1 << 20

  /// After a document count of zero, this value introduces runs, then documents.
  static let runsForm: UInt8 = 1
  /// After a document count of zero, this value introduces the number of a segment, then its documents.
  ///
  /// All heads precede all contents (``SegmentColumns``).
  static let segmentForm: UInt8 = 4

  /// The collections of the documents; may include one whose document was left out.
  private(set) var collections = CollectionSet()
  private var bodyCount = 0
  private var body = ByteWriter()
  private var previous: String?
  private var runCount = 0
  private var runDocuments = 0
  private var runs = ByteWriter()
  private var previousOfRuns: String?

  /// The segment of a large transaction, if this is one.
  var segment: Segment?

  var documentCount: Int { bodyCount + runDocuments }
  var byteCount: Int { body.count + runs.count }
  var isEmpty: Bool { documentCount == 0 }

  /// Removes everything, for the next transaction.
  mutating func removeAll() {
    if body.bytes.capacity > Self.keptBytes {
      body = ByteWriter()
    } else {
      body.bytes.removeAll(keepingCapacity: true)
    }
    bodyCount = 0
    collections = CollectionSet()
    previous = nil
    segment = nil
    guard runCount > 0 else { return }
    runs = ByteWriter()
    (runCount, runDocuments, previousOfRuns) = (0, 0, nil)
  }

  /// Frees the memory that is kept for the next transaction, unless one has begun.
  mutating func rest() { if isEmpty { (body, runs) = (ByteWriter(), ByteWriter()) } }

  /// Adds what `base` lacks of a document, with an optional check of the full state.
  ///
  /// - Returns: `nil`; or, without adding anything, the document's size if it takes more than `limit` bytes.
  mutating func append(
    _ cleared: consuming Cleared, id: RawSpan, flags: UInt8 = 0, record: borrowing RecordView,
    base: VersionVector, check: UInt32?, tables: RecordTables, limit: Int
  ) throws(CodecError) -> Int? {
    let (start, former) = (body.count, previous)
    writeHead(cleared, id: id, flags: flags | (check == nil ? 0 : Self.checkFlag))
    if let check { body.writeFixed(check) }
    let head = body.count
    // Most documents take two bytes for their length; the contents of others are moved.
    body.writeFixed(UInt16(0))
    do throws(CodecError) {
      try WireDocument.append(record, lacking: base, tables: tables, to: &body)
    } catch {
      body.bytes.removeSubrange(start...)
      previous = former
      throw error
    }
    let count = body.count - head - 2
    guard count <= limit else {
      body.bytes.removeSubrange(start...)
      previous = former
      return count
    }
    var length = ByteWriter(capacity: 0)
    if count >= 0x80, count < 0x4000 {
      body.bytes[head] = UInt8(truncatingIfNeeded: count) | 0x80
      body.bytes[head + 1] = UInt8(truncatingIfNeeded: count >> 7)
    } else {
      length.writeVarint(count)
      body.bytes.replaceSubrange(head..<head + 2, with: length.bytes)
    }
    bodyCount += 1
    return nil
  }

  /// Adds a document that is already encoded.
  mutating func append(_ cleared: consuming Cleared, id: RawSpan, flags: UInt8, wire: [UInt8]) {
    writeHead(cleared, id: id, flags: flags)
    body.writeBlob(wire)
    bodyCount += 1
  }

  private mutating func writeHead(_ cleared: consuming Cleared, id: RawSpan, flags: UInt8) {
    if previous.map(cleared.collection.isSame) != true { collections.insert(cleared.collection) }
    body.writeCollection(cleared.collection, after: &previous)
    body.writeVarint(id.byteCount)
    body.write(id)
    body.write(flags)
  }

  /// Adds a run of similar changes.
  mutating func append(_ cleared: consuming Cleared, _ run: OutgoingRun) {
    collections.insert(cleared.collection)
    runs.writeCollection(cleared.collection, after: &previousOfRuns)
    runs.write(run.flags)
    run.write(to: &runs)
    runCount += 1
    runDocuments += run.count
  }

  /// The bytes before the documents.
  private var head: [UInt8] {
    var out = ByteWriter(capacity: 16 + runs.count)
    if runCount > 0 {
      out.writeVarint(0)
      out.write(Self.runsForm)
      out.writeVarint(runCount)
      out.write(runs.bytes)
    } else if let segment {
      out.writeVarint(0)
      out.write(Self.segmentForm)
      segment.encode(to: &out)
    }
    out.writeVarint(bodyCount)
    return out.bytes
  }

  /// Appends the transaction, preceded by its length, to a stream.
  func write(to stream: inout [UInt8]) {
    var out = ByteWriter()
    swap(&out.bytes, &stream)
    if runCount == 0, segment == nil {
      out.writeVarint(varintBytes(bodyCount) + body.count)
      out.writeVarint(bodyCount)
    } else {
      let head = head
      out.writeVarint(head.count + body.count)
      out.write(head)
    }
    out.write(body.bytes)
    swap(&out.bytes, &stream)
  }

  private func varintBytes(_ value: Int) -> Int { max(1, (Int.bitWidth - value.leadingZeroBitCount + 6) / 7) }

  /// The transaction as a transfer of its own; a segment in columns.
  var bytes: [UInt8] {
    guard segment != nil else { return head + body.bytes }
    return head + SegmentColumns.split(body.bytes.span.bytes, count: bodyCount)
  }
}
