import CLMDB
import CRDTCore

/// A store's identity: its site, the epoch of its log, and the nonce of its last session.
struct StoreIdentity: Hashable, Sendable {
  /// The format that this release writes, and the only one that it reads.
  static let formatVersion: UInt32 = 5
  /// The nonce of a copy that was created to become a store of its own.
  static let noNonce: UInt64 = 0

  var site: SiteID
  /// The salt from which the site is derived, with a key; zero if it is not derived from a key.
  var salt = SiteSalt.zero
  var epoch: UInt64
  /// Each session that writes draws a new one; the file beside the data contains it too.
  var nonce: UInt64

  private static let formatKey = Array("format".utf8)
  static let identityKey = Array("identity".utf8)

  /// The identity of a new store, or of one that becomes a new site for a reason.
  ///
  /// It is never site zero, which is the site of default data.
  init(_ options: StoreOptions, _ reason: IdentityChange.Reason? = nil) throws(StoreError) {
    let random = options.random
    var site = SiteID.zero
    while site == .zero {
      let drawn = (high: random(), low: random())
      if let siteOfSalt = options.siteOfSalt {
        salt = SiteSalt(high: drawn.high, low: drawn.low)
        site = try siteOfSalt(salt, reason)
      } else {
        site = SiteID(high: drawn.high, low: drawn.low)
      }
    }
    self.site = site
    epoch = random()
    nonce = Self.drawNonce(random)
  }

  static func drawNonce(_ random: () -> UInt64) -> UInt64 { max(random(), noNonce + 1) }

  /// Refuses a store of another format, before anything else of it is read.
  static func checkFormat(_ access: PageAccess, _ meta: MDB_dbi) throws(StoreError) {
    let version = try access.small(formatKey, in: meta, "meta") { reader throws(CodecError) in
      try reader.readFixed(as: UInt32.self)
    }
    guard let version else { throw SmallRecord.damaged("meta") }
    guard version == formatVersion else {
      throw StoreError(
        .unsupportedVersion, "The store has format \(version), this release reads \(formatVersion)",
        operation: "open")
    }
  }

  init(_ access: PageAccess, _ tables: Tables) throws(StoreError) {
    let identity = try access.small(Self.identityKey, in: tables.meta, "meta") { reader throws(CodecError) in
      try StoreIdentity(&reader)
    }
    guard let identity else { throw SmallRecord.damaged("meta") }
    self = identity
  }

  private init(_ reader: inout ByteReader) throws(CodecError) {
    site = try reader.readSite()
    salt = SiteSalt(high: try reader.readFixed(), low: try reader.readFixed())
    epoch = try reader.readFixed()
    nonce = try reader.readFixed()
  }

  /// Writes the format and the identity.
  func create(_ access: PageAccess, _ tables: Tables) throws(StoreError) {
    var format = ByteWriter()
    format.writeFixed(Self.formatVersion)
    try SmallRecord.put(format.bytes, at: Self.formatKey, in: tables.meta, access)
    try write(access, tables)
  }

  func write(_ access: PageAccess, _ tables: Tables) throws(StoreError) {
    var identity = ByteWriter()
    identity.write(site)
    identity.writeFixed(salt.high)
    identity.writeFixed(salt.low)
    identity.writeFixed(epoch)
    identity.writeFixed(nonce)
    try SmallRecord.put(identity.bytes, at: Self.identityKey, in: tables.meta, access)
  }
}

extension PageAccess {
  /// Reads one value of a small table; `nil` if the key is absent.
  func small<R>(
    _ key: [UInt8], in table: MDB_dbi, _ name: String,
    _ decode: (inout ByteReader) throws(CodecError) -> R
  ) throws(StoreError) -> R? {
    do {
      return try withValue(table, key.rawBytes) { stored in
        let value = try SmallRecord.open(stored, at: key.rawBytes, table: name)
        var reader = ByteReader(value.rawBytes)
        return try decode(&reader)
      }
    } catch let error as StoreError {
      throw error
    } catch {
      throw SmallRecord.damaged(name)
    }
  }
}
