import CLMDB
import CRDTCore

/// Documents and groups on the pages of one snapshot: what both kinds of transaction read through.
struct DocumentPages {
  let access: PageAccess
  let tables: Tables

  /// Hands a document's record, verified, in place, and its envelope to `body`.
  ///
  /// - Returns: `nil` when the document is unknown here.
  @inline(__always)
  func withRecord<R>(
    _ collection: UInt32, named name: String, _ id: DocumentID, _ body: (RawSpan, Envelope) throws -> R
  ) throws -> R? {
    var result: R?
    try visitRecord(collection, named: name, id) { result = try body($0, $1) }
    return result
  }

  /// The same for a body without a result, which spares looking up types while it runs.
  ///
  /// - Returns: `false` when the document is unknown here.
  @discardableResult
  func visitRecord(
    _ collection: UInt32, named name: String, _ id: DocumentID, _ body: (RawSpan, Envelope) throws -> Void
  ) throws -> Bool {
    try DocumentPath.withKey(collection, id.bytes.rawBytes) { key in
      let found: Void? = try access.withValue(tables.documents, key) { stored in
        guard let envelope = Envelope(stored), envelope.isIntact(for: key) else {
          throw Self.damaged(name, id)
        }
        let record = stored.extracting(Envelope.byteCount..<stored.byteCount)
        guard RecordView(record).verify() else { throw Self.damaged(name, id) }
        try body(record, envelope)
      }
      return found != nil
    }
  }

  /// Visits the documents of a collection in the order of their ids' bytes until `body` returns `false`.
  func forEachRecord(
    _ collection: Collection, from: [UInt8]?, to: [UInt8]?, verify: Bool,
    _ body: (RawSpan, Summary, borrowing RecordView) throws -> Bool
  ) throws {
    let end = to.map { DocumentPath.key(collection.id, $0) }
    let prefix = DocumentPath.prefixBytes
    var previous: [UInt8] = []
    try access.scan(tables.documents, from: DocumentPath.key(collection.id, from ?? []).rawBytes) {
      key, stored in
      guard DocumentPath.collection(of: key) == collection.id else { return false }
      if let end, key.compare(end.rawBytes) >= 0 { return false }
      let id = key.extracting(prefix..<key.byteCount)
      guard let envelope = Envelope(stored) else { throw Self.damaged(collection.name, id) }
      let record = RecordView(stored.extracting(Envelope.byteCount..<stored.byteCount))
      if verify {
        // Two pages that changed places hold intact records, but not in order.
        guard envelope.isIntact(for: key), record.verify(), previous.rawBytes.compare(key) < 0 else {
          throw Self.damaged(collection.name, id)
        }
        previous.removeAll(keepingCapacity: true)
        unsafe key.withUnsafeBytes { unsafe previous.append(contentsOf: $0) }
      }
      return try body(id, envelope.summary, record)
    }
  }

  /// Visits the records of commits that touched several documents, after `sequence`, oldest first.
  func groups(after sequence: UInt64, _ body: (UInt64, [DocumentKey]) throws -> Bool) throws {
    guard sequence < .max else { return }
    var start = ByteWriter(capacity: 8)
    start.writeFixed(sequence + 1)
    try access.scan(tables.groups, from: start.bytes.rawBytes) { key, stored in
      let value = try SmallRecord.open(stored, at: key, table: "groups")
      do {
        var reader = ByteReader(key)
        return try body(try reader.readFixed(), try GroupRecord(value.rawBytes).members)
      } catch is CodecError {
        throw SmallRecord.damaged("groups")
      }
    }
  }

  /// The documents that are too large to be sent.
  func oversize(_ name: (UInt32) -> String?) throws -> [OversizeDocument] {
    var found: [OversizeDocument] = []
    try access.scan(tables.oversize, from: [UInt8]().rawBytes) { key, stored in
      let value = try SmallRecord.open(stored, at: key, table: "oversize")
      var reader = ByteReader(value.rawBytes)
      guard let collection = DocumentPath.collection(of: key), let name = name(collection),
        let byteCount = try? reader.readFixed(as: UInt64.self)
      else { throw SmallRecord.damaged("oversize") }
      let id = DocumentID(trusted: DocumentPath.idBytes(of: key))
      found.append(OversizeDocument(collection: name, id: id, byteCount: Int(clamping: byteCount)))
      return true
    }
    return found
  }

  static func damaged(_ collection: String, _ id: DocumentID) -> StoreError {
    damaged(collection, id.bytes.rawBytes)
  }

  /// An id's bytes in hexadecimal, which are not readable contents.
  static func digits(_ id: RawSpan) -> String {
    unsafe id.withUnsafeBytes { bytes in
      unsafe bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
  }

  private static func damaged(_ collection: String, _ id: RawSpan) -> StoreError {
    StoreError(
      .corrupt, "The record of document \(digits(id)) in the collection \(collection) is damaged",
      operation: "read")
  }
}

/// A document's key in the store: its collection's number, big-endian, then its id's bytes.
enum DocumentPath {
  static let prefixBytes = 4

  static func key(_ collection: UInt32, _ id: [UInt8]) -> [UInt8] {
    var key = ByteWriter(capacity: prefixBytes + id.count)
    key.writeFixed(collection)
    key.write(id)
    return key.bytes
  }

  /// Builds a key without allocating and hands it to `body`.
  static func withKey<R>(_ collection: UInt32, _ id: RawSpan, _ body: (RawSpan) throws -> R) throws -> R {
    // SAFETY: every byte of the buffer is written before it is read, and it is not used after `body`.
    try unsafe withUnsafeTemporaryAllocation(byteCount: prefixBytes + id.byteCount, alignment: 4) { room in
      unsafe room.storeBytes(of: collection.bigEndian, as: UInt32.self)
      unsafe id.withUnsafeBytes { bytes in
        unsafe UnsafeMutableRawBufferPointer(rebasing: room[prefixBytes...]).copyMemory(from: bytes)
      }
      return try unsafe body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(room)))
    }
  }

  static func collection(of key: RawSpan) -> UInt32? {
    guard key.byteCount >= prefixBytes else { return nil }
    return UInt32(bigEndian: unsafe key.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self))
  }

  static func idBytes(of key: RawSpan) -> [UInt8] {
    unsafe key.extracting(prefixBytes..<key.byteCount).withUnsafeBytes { unsafe Array($0) }
  }
}

/// The documents of one commit that are to become visible together, and when they were written.
struct GroupRecord {
  /// The lived time of the commit.
  let time: UInt64
  let members: [DocumentKey]

  /// The record of the documents of a group that receivers may learn of; `nil` when they are less than two.
  static func encode(_ drafts: ArraySlice<ChangeDraft>, time: UInt64) -> [UInt8]? {
    var count = 0
    var byteCount = 0
    for draft in drafts where draft.kind == .write {
      count += 1
      byteCount += 6 + draft.key.id.bytes.count
    }
    guard count >= 2 else { return nil }
    var writer = ByteWriter(capacity: 18 + byteCount)
    writer.writeFixed(time)
    writer.writeVarint(count)
    for draft in drafts where draft.kind == .write {
      writer.writeFixed(draft.key.collection)
      writer.writeVarint(draft.key.id.bytes.count)
      writer.write(draft.key.id.bytes.rawBytes)
    }
    return writer.bytes
  }

  /// The time of a stored record; `nil` when it is damaged.
  static func time(_ stored: RawSpan, at key: RawSpan) -> UInt64? {
    guard let value = try? SmallRecord.open(stored, at: key, table: "groups") else { return nil }
    var reader = ByteReader(value.rawBytes)
    return try? reader.readFixed(as: UInt64.self)
  }

  init(_ bytes: RawSpan) throws(CodecError) {
    var reader = ByteReader(bytes)
    time = try reader.readFixed()
    var members: [DocumentKey] = []
    let count = try reader.readCount(minimumBytes: 5)
    members.reserveCapacity(count)
    for _ in 0..<count {
      let collection: UInt32 = try reader.readFixed()
      let id = try reader.readBlob()
      members.append(
        DocumentKey(
          collection: collection, id: DocumentID(trusted: unsafe id.withUnsafeBytes { unsafe Array($0) })))
    }
    self.members = members
  }
}

extension Record {
  /// Takes a copy of bytes on a page.
  init(copying bytes: RawSpan) { self.init(bytes: unsafe bytes.withUnsafeBytes { unsafe Array($0) }) }
}
