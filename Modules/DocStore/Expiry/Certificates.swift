import CLMDB
import CRDTCore

/// What is left of a document that was deleted long ago: when that was.
struct Certificate {
  let life: Stamp
  /// Wall time in milliseconds of when the tombstone went here.
  let since: UInt64

  /// Eight bytes that stand for a document's key.
  static func key(_ path: RawSpan) -> [UInt8] {
    var key = ByteWriter(capacity: 8)
    key.writeFixed(HashLanes(path).first)
    return key.bytes
  }

  func encode(_ sites: inout SiteTable) -> [UInt8] {
    var value = ByteWriter(capacity: 20)
    value.writeFixed(life.reading.rawValue)
    value.writeFixed(since)
    value.writeVarint(UInt64(sites.intern(life.site)))
    return value.bytes
  }

  init(life: Stamp, since: UInt64) {
    self.life = life
    self.since = since
  }

  init(_ reader: inout ByteReader, _ sites: SiteTable) throws(CodecError) {
    let reading = ClockReading(rawValue: try reader.readFixed())
    since = try reader.readFixed()
    guard let ordinal = UInt32(exactly: try reader.readVarint()), let site = sites[ordinal] else {
      throw reader.failure(.unknownName, "a site ordinal is not in the store's table")
    }
    life = Stamp(reading: reading, site: site)
  }
}

extension DocumentPages {
  /// The certificate of a document without a record, by its key; `nil` when it was never deleted here.
  ///
  /// - Complexity: O(1) in a store without certificates.
  func certificate(_ path: RawSpan, _ sites: SiteTable) throws(StoreError) -> Certificate? {
    guard try access.entryCount(tables.certificates) > 0 else { return nil }
    return try access.small(Certificate.key(path), in: tables.certificates, "certificates") {
      reader throws(CodecError) in
      try Certificate(&reader, sites)
    }
  }

  /// Hands the bare tombstone that a certificate stands for to `body`.
  ///
  /// - Returns: `nil` when there is none for the document.
  func withTombstone<R>(
    _ collection: UInt32, _ id: DocumentID, _ sites: SiteTable,
    _ body: (borrowing RecordView, Summary) throws -> R
  ) throws -> R? {
    let certificate: Certificate? = try DocumentPath.withKey(collection, id.bytes.rawBytes) { path in
      try self.certificate(path, sites)
    }
    guard let certificate else { return nil }
    var tables = RecordTables(keys: KeyTable(), sites: sites)
    let tombstone = DocumentCodec.tombstone(of: certificate.life, tables: &tables)
    return try body(RecordView(tombstone.record.rawBytes), tombstone.summary)
  }
}
