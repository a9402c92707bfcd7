import CRDTCore

/// Collects documents that are to become visible together, in their wire form.
struct GroupEncoder {
  /// The sender holds the document under its own interest and wants back what it lacks.
  static let heldFlag: UInt8 = 1
  /// The document answers one of the receiver's, so that default data is not sent back once more.
  static let replyFlag: UInt8 = 2
  static let knownFlags: UInt8 = 3

  private(set) var documentCount = 0
  private var body = ByteWriter(capacity: 512)
  private var scratch = ByteWriter(capacity: 512)
  private var previous: String?

  var byteCount: Int { body.count }
  var isEmpty: Bool { documentCount == 0 }

  /// Adds what `base` lacks of a document.
  ///
  /// - Returns: Its size, with nothing added, when it takes more than `limit` bytes; else `nil`.
  mutating func append(
    _ cleared: consuming Cleared, id: [UInt8], flags: UInt8 = 0, record: borrowing RecordView,
    base: VersionVector,
    tables: RecordTables, limit: Int
  ) throws(CodecError) -> Int? {
    scratch.bytes.removeAll(keepingCapacity: true)
    try WireDocument.append(record, lacking: base, tables: tables, to: &scratch)
    guard scratch.count <= limit else { return scratch.count }
    append(cleared, id: id, flags: flags, wire: scratch.bytes)
    return nil
  }

  /// Adds a document that is encoded already.
  mutating func append(_ cleared: consuming Cleared, id: [UInt8], flags: UInt8, wire: [UInt8]) {
    body.writeCollection(cleared.collection, after: &previous)
    body.writeBlob(id)
    body.write(flags)
    body.writeBlob(wire)
    documentCount += 1
  }

  /// Appends the group, after its length, to a stream of groups.
  func write(to stream: inout [UInt8]) {
    var count = ByteWriter(capacity: 8)
    count.writeVarint(documentCount)
    var length = ByteWriter(capacity: 8)
    length.writeVarint(count.count + body.count)
    stream.reserveCapacity(stream.count + length.count + count.count + body.count)
    stream.append(contentsOf: length.bytes)
    stream.append(contentsOf: count.bytes)
    stream.append(contentsOf: body.bytes)
  }

  /// The group alone, as a transfer of its own.
  var bytes: [UInt8] {
    var out = ByteWriter(capacity: body.count + 8)
    out.writeVarint(documentCount)
    out.write(body.bytes)
    return out.bytes
  }
}
