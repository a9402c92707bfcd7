import CLMDB
import CRDTCore

/// A compacted tombstone: the time of the removal is all that is left of a document deleted long ago.
struct Certificate {
  let life: Stamp
  /// The document's floor: nothing at or below it exists; zero for a document without one.
  let floor: Stamp
  /// The lived time at which this store compacted the tombstone.
  let since: UInt64

  static let keyBytes = DocumentPath.prefixBytes + 8

  /// The certificate's key: the document's collection and 8 hash bytes of its id, equal on all peers.
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
    // Earlier releases ignore what follows.
    if floor == life {
      value.write(FloorForm.atLife.rawValue)
    } else if floor > .zero {
      value.write(FloorForm.apart.rawValue)
      value.writeFixed(floor.reading.rawValue)
      value.writeVarint(UInt64(sites.intern(floor.site)))
    }
    return value.bytes
  }

  /// How a certificate stores the floor, if the document has one.
  private enum FloorForm: UInt8 {
    /// The document was erased: the floor is the stamp of the removal.
    case atLife = 1
    /// A reading and the ordinal of a site follow: the document was written anew after that, and removed.
    case apart = 2
  }

  /// The ordinals of the stored sites; none if the certificate was not read from the store.
  let ordinals: [UInt32]

  init(life: Stamp, floor: Stamp, since: UInt64) {
    self.life = life
    self.floor = floor
    self.since = since
    ordinals = []
  }

  init(_ reader: inout ByteReader, _ sites: SiteTable) throws(CodecError) {
    let reading = ClockReading(rawValue: try reader.readFixed())
    since = try reader.readFixed()
    let (ordinal, site) = try Self.readSite(&reader, sites)
    life = Stamp(reading: reading, site: site)
    guard reader.remaining > 0 else {
      (floor, ordinals) = (.zero, [ordinal])
      return
    }
    switch FloorForm(rawValue: try reader.readByte()) {
    case .atLife: (floor, ordinals) = (life, [ordinal])
    case .apart:
      let reading = ClockReading(rawValue: try reader.readFixed())
      let (other, site) = try Self.readSite(&reader, sites)
      (floor, ordinals) = (Stamp(reading: reading, site: site), [ordinal, other])
    // A later release may add something else.
    case nil: (floor, ordinals) = (.zero, [ordinal])
    }
  }

  private static func readSite(
    _ reader: inout ByteReader, _ sites: SiteTable
  ) throws(CodecError) -> (ordinal: UInt32, site: SiteID) {
    guard let ordinal = UInt32(exactly: try reader.readVarint()), let site = sites[ordinal] else {
      throw reader.failure(.unknownName, "a site ordinal is not in the store's table")
    }
    return (ordinal, site)
  }

  /// The ordinals of the sites that a stored certificate names; none if it is damaged.
  static func sites(_ stored: RawSpan, at key: RawSpan) -> [UInt32] {
    guard let value = try? SmallRecord.open(stored, at: key, table: "certificates") else { return [] }
    var reader = ByteReader(value.rawBytes)
    do throws(CodecError) {
      _ = try reader.readFixed(as: UInt64.self)
      _ = try reader.readFixed(as: UInt64.self)
      var found = [UInt32(exactly: try reader.readVarint())]
      if reader.remaining > 0, try reader.readByte() == FloorForm.apart.rawValue {
        _ = try reader.readFixed(as: UInt64.self)
        found.append(UInt32(exactly: try reader.readVarint()))
      }
      return found.compactMap(\.self)
    } catch {
      return []
    }
  }

  /// Reads a stored certificate; `nil` if it is damaged.
  init?(_ stored: RawSpan, at key: RawSpan, _ sites: SiteTable) {
    guard let value = try? SmallRecord.open(stored, at: key, table: "certificates") else { return nil }
    var reader = ByteReader(value.rawBytes)
    guard let read = try? Certificate(&reader, sites) else { return nil }
    self = read
  }
}

extension DocumentPages {
  /// The certificate of a document without a record; `nil` if this store has none.
  ///
  /// - Throws: `corrupt` if it is damaged; an eviction then removes it.
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

  /// Passes `body` the bare tombstone that a certificate replaces.
  ///
  /// - Returns: `nil` if the document has no certificate.
  func withTombstone<R>(
    _ collection: UInt32, _ id: DocumentID, _ sites: SiteTable,
    _ body: (borrowing RecordView, Summary) throws -> R
  ) throws -> R? {
    guard let certificate = try certificate(DocumentPath.key(collection, id.bytes).rawBytes, sites) else {
      return nil
    }
    var tables = RecordTables(keys: KeyTable(), sites: sites)
    // The tables with which `body` decodes the tombstone do not have this ordinal.
    for (ordinal, site) in zip(certificate.ordinals, [certificate.life.site, certificate.floor.site]) {
      tables.sites.use(ordinal, for: site)
    }
    let tombstone = DocumentCodec.tombstone(
      of: certificate.life, floor: certificate.floor, tables: &tables)
    return try body(RecordView(tombstone.record.rawBytes), tombstone.summary)
  }

  /// Keys of certificates from before `horizon` among the next `limit`, and where to continue.
  ///
  /// It skips a damaged certificate. A read of its document, or a verification of the store, finds it.
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
  /// Visits the deletions in a collection of which only a certificate is left.
  ///
  /// It ends when `body` returns `false`.
  /// - Parameters:
  ///   - collection: The collection to visit.
  ///   - from: The first hash to visit, inclusive.
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
