import CRDTCore

/// Collects documents that are to become visible together, in their wire form.
struct GroupEncoder {
  /// The sender holds the document under its own interest and wants back what it lacks.
  static let heldFlag: UInt8 = 1
  /// The document answers one of the receiver's, so that default data is not sent back once more.
  static let replyFlag: UInt8 = 2
  /// The group is a commit that was not asked for.
  static let liveFlag: UInt8 = 4
  /// The commit came from another peer.
  static let forwardedFlag: UInt8 = 8
  /// After the flags follows a check of the sender's state.
  static let checkFlag: UInt8 = 16
  static let knownFlags: UInt8 = 31
  /// Those that a run may have: it never answers anything.
  static let runFlags: UInt8 = heldFlag | liveFlag | forwardedFlag
  /// Memory that is kept from one group to the next.
  private static let keptBytes = 1 << 20

  /// What follows a count of no documents: runs, then documents.
  static let runsForm: UInt8 = 1
  /// What follows a count of no documents: which part of a large group it is, then documents, the heads of all of them
  /// first (``PartColumns``).
  static let partForm: UInt8 = 4

  /// Where the documents are from; perhaps also where one is from that was left out.
  private(set) var collections = CollectionSet()
  private var bodyCount = 0
  private var body = ByteWriter()
  private var previous: String?
  private var runCount = 0
  private var runDocuments = 0
  private var runs = ByteWriter()
  private var previousOfRuns: String?

  /// Which part of a large group it is, if it is one.
  var part: ComponentPart?

  var documentCount: Int { bodyCount + runDocuments }
  var byteCount: Int { body.count + runs.count }
  var isEmpty: Bool { documentCount == 0 }

  /// Begins anew.
  mutating func removeAll() {
    if body.bytes.capacity > Self.keptBytes {
      body = ByteWriter()
    } else {
      body.bytes.removeAll(keepingCapacity: true)
    }
    bodyCount = 0
    collections = CollectionSet()
    previous = nil
    part = nil
    guard runCount > 0 else { return }
    runs = ByteWriter()
    (runCount, runDocuments, previousOfRuns) = (0, 0, nil)
  }

  /// Gives back the memory that is kept for the next group, where none has begun.
  mutating func rest() { if isEmpty { (body, runs) = (ByteWriter(), ByteWriter()) } }

  /// Adds what `base` lacks of a document, perhaps with a check of all of it.
  ///
  /// - Returns: Its size, with nothing added, when it takes more than `limit` bytes; else `nil`.
  mutating func append(
    _ cleared: consuming Cleared, id: RawSpan, flags: UInt8 = 0, record: borrowing RecordView,
    base: VersionVector, check: UInt32?, tables: RecordTables, limit: Int
  ) throws(CodecError) -> Int? {
    let (start, former) = (body.count, previous)
    writeHead(cleared, id: id, flags: flags | (check == nil ? 0 : Self.checkFlag))
    if let check { body.writeFixed(check) }
    let head = body.count
    // Most documents take two bytes for their length; of others it is moved into place.
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

  /// Adds a document that is encoded already.
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

  /// Adds alike changes.
  mutating func append(_ cleared: consuming Cleared, _ run: OutgoingRun) {
    collections.insert(cleared.collection)
    runs.writeCollection(cleared.collection, after: &previousOfRuns)
    runs.write(run.flags)
    run.write(to: &runs)
    runCount += 1
    runDocuments += run.count
  }

  /// What stands before the documents.
  private var head: [UInt8] {
    var out = ByteWriter(capacity: 16 + runs.count)
    if runCount > 0 {
      out.writeVarint(0)
      out.write(Self.runsForm)
      out.writeVarint(runCount)
      out.write(runs.bytes)
    } else if let part {
      out.writeVarint(0)
      out.write(Self.partForm)
      part.encode(to: &out)
    }
    out.writeVarint(bodyCount)
    return out.bytes
  }

  /// Appends the group, after its length, to a stream of groups.
  func write(to stream: inout [UInt8]) {
    var out = ByteWriter()
    swap(&out.bytes, &stream)
    if runCount == 0, part == nil {
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

  /// The group alone, as a transfer of its own; a part of a large one in columns.
  var bytes: [UInt8] {
    guard part != nil else { return head + body.bytes }
    return head + PartColumns.split(body.bytes.span.bytes, count: bodyCount)
  }
}
