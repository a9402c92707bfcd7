import CLMDB
import CRDTCore

/// What is left of a document that was deleted long ago: when that was.
struct Certificate {
  let life: Stamp
  /// The lived time at which the tombstone went here.
  let since: UInt64

  static let keyBytes = DocumentPath.prefixBytes + 8

  /// The key of a document's certificate: its collection, and eight bytes that stand for its id at every peer.
  static func key(_ path: RawSpan) -> [UInt8] {
    key(DocumentPath.collection(of: path) ?? 0, HashLanes(DocumentPath.id(of: path)).first)
  }

  static func key(_ collection: UInt32, _ id: UInt64) -> [UInt8] {
    var key = ByteWriter(capacity: keyBytes)
    key.writeFixed(collection)
    key.writeFixed(id)
    return key.bytes
  }

  func encode(_ sites: inout SiteTable) -> [UInt8] {
    var value = ByteWriter(capacity: 20)
    value.writeFixed(life.reading.rawValue)
    value.writeFixed(since)
    value.writeVarint(UInt64(sites.intern(life.site)))
    return value.bytes
  }

  /// The ordinal by which its site is stored, where it was read.
  let ordinal: UInt32?

  init(life: Stamp, since: UInt64) {
    self.life = life
    self.since = since
    ordinal = nil
  }

  init(_ reader: inout ByteReader, _ sites: SiteTable) throws(CodecError) {
    let reading = ClockReading(rawValue: try reader.readFixed())
    since = try reader.readFixed()
    guard let ordinal = UInt32(exactly: try reader.readVarint()), let site = sites[ordinal] else {
      throw reader.failure(.unknownName, "a site ordinal is not in the store's table")
    }
    life = Stamp(reading: reading, site: site)
    self.ordinal = ordinal
  }

  /// The ordinal of the site that a stored certificate names; `nil` when it is damaged.
  static func site(_ stored: RawSpan, at key: RawSpan) -> UInt32? {
    guard SmallRecord.isIntact(stored, at: key) else { return nil }
    var reader = ByteReader(stored)
    guard (try? reader.readFixed(as: UInt64.self)) != nil, (try? reader.readFixed(as: UInt64.self)) != nil
    else { return nil }
    return (try? reader.readVarint()).flatMap { UInt32(exactly: $0) }
  }

  /// Reads a stored certificate; `nil` when it is damaged.
  init?(_ stored: RawSpan, at key: RawSpan, _ sites: SiteTable) {
    guard let value = try? SmallRecord.open(stored, at: key, table: "certificates") else { return nil }
    var reader = ByteReader(value.rawBytes)
    guard let read = try? Certificate(&reader, sites) else { return nil }
    self = read
  }
}

extension DocumentPages {
  /// The certificate of a document without a record, by its key; `nil` when it was never deleted here.
  ///
  /// - Throws: `corrupt` when it is damaged; an eviction removes it then.
  /// - Complexity: O(1) in a store without certificates.
  func certificate(_ path: RawSpan, _ sites: SiteTable) throws -> Certificate? {
    guard try access.entryCount(tables.certificates) > 0 else { return nil }
    let key = Certificate.key(path)
    return try access.withValue(tables.certificates, key.rawBytes) { stored in
      guard let certificate = Certificate(stored, at: key.rawBytes, sites) else {
        throw SmallRecord.damaged("certificates")
      }
      return certificate
    }
  }

  /// Hands the bare tombstone that a certificate stands for to `body`.
  ///
  /// - Returns: `nil` when there is none for the document.
  func withTombstone<R>(
    _ collection: UInt32, _ id: DocumentID, _ sites: SiteTable,
    _ body: (borrowing RecordView, Summary) throws -> R
  ) throws -> R? {
    guard let certificate = try certificate(DocumentPath.key(collection, id.bytes).rawBytes, sites) else {
      return nil
    }
    var tables = RecordTables(keys: KeyTable(), sites: sites)
    // What `body` decodes it by has no ordinal that is given here.
    if let ordinal = certificate.ordinal { tables.sites.use(ordinal, for: certificate.life.site) }
    let tombstone = DocumentCodec.tombstone(of: certificate.life, tables: &tables)
    return try body(RecordView(tombstone.record.rawBytes), tombstone.summary)
  }

  /// Keys of certificates from before `horizon` among the next `limit` from `start` on, and where to go on.
  ///
  /// A damaged one is passed over; it is found by whoever asks for its document, or verifies the store.
  func oldCertificates(
    from start: [UInt8], before horizon: UInt64, limit: Int, _ sites: SiteTable
  ) throws -> (old: [[UInt8]], next: [UInt8]?) {
    var (old, next, seen): ([[UInt8]], [UInt8]?, Int) = ([], nil, 0)
    try access.scan(tables.certificates, from: start.rawBytes) { key, stored in
      guard seen < limit else {
        next = unsafe key.withUnsafeBytes { unsafe Array($0) }
        return false
      }
      seen += 1
      if let certificate = Certificate(stored, at: key, sites), certificate.since < horizon {
        old.append(unsafe key.withUnsafeBytes { unsafe Array($0) })
      }
      return true
    }
    return (old, next)
  }
}

extension ReadTransaction {
  /// Visits the deletions of a collection of which only a death certificate is left, until `body` returns `false`.
  ///
  /// - Parameters:
  ///   - collection: What to visit.
  ///   - from: The first one, included.
  ///   - body: Gets the first lane of the hash of a document's id, in ascending order.
  /// - Throws: What reading throws, and what `body` throws.
  /// - Complexity: O(1) in a store without certificates.
  package borrowing func forEachCertificate(
    in collection: Collection, from: UInt64 = 0, _ body: (_ idHash: UInt64) throws -> Bool
  ) throws {
    let pages = try pages
    guard try pages.access.entryCount(pages.tables.certificates) > 0 else { return }
    try pages.access.scan(pages.tables.certificates, from: Certificate.key(collection.id, from).rawBytes) {
      key, _ in
      guard key.byteCount == Certificate.keyBytes, DocumentPath.collection(of: key) == collection.id else {
        return false
      }
      var reader = ByteReader(DocumentPath.id(of: key))
      return try body(try reader.readFixed())
    }
  }
}
