public import CRDTCore

/// What a peer publishes about itself to peers that observe presence.
public struct PeerPresence: Hashable, Sendable {
  /// The version of a peer's presence: later states compare greater.
  public struct Version: Hashable, Comparable, Sendable {
    /// When the peer's process began to take part, in milliseconds since 1970 by its own clock.
    public let start: UInt64
    /// The number of the state since then, from 1.
    public let number: UInt64

    public init(start: UInt64, number: UInt64) {
      self.start = start
      self.number = number
    }

    /// The version before the first state of any peer.
    public static let none = Version(start: 0, number: 0)

    public static func < (left: Version, right: Version) -> Bool {
      (left.start, left.number) < (right.start, right.number)
    }
  }

  /// The site of the peer's store.
  public var site: SiteID
  /// The version of this state.
  public var version: Version
  /// A device or the big peer.
  public var kind: PeerKind
  /// The name of the peer's device.
  @TextKey public var deviceName: String
  /// The operating system, for example `Linux 6.1`.
  @TextKey public var system: String
  /// The version of this library.
  @TextKey public var release: String
  /// Whether the peer is a big peer, or is connected to one.
  public var reachesBigPeer: Bool
  /// The metadata that the application publishes.
  public var metadata: [TextKey: Value]

  /// The maximum of encoded bytes of the metadata.
  public static let metadataBytes = 4_096
  /// The maximum of UTF-8 bytes of each text.
  public static let textBytes = 128

  /// Creates a presence; texts that are too long are cut at a character boundary.
  ///
  /// - Precondition: The metadata take at most ``metadataBytes``, as ``byteCount(of:)`` counts.
  public init(
    site: SiteID, version: Version, kind: PeerKind, deviceName: String, system: String, release: String,
    reachesBigPeer: Bool, metadata: [TextKey: Value] = [:]
  ) {
    precondition(Self.byteCount(of: metadata) <= Self.metadataBytes, "The metadata are too long")
    self.site = site
    self.version = version
    self.kind = kind
    self.deviceName = deviceName.prefix(utf8Bytes: Self.textBytes)
    self.system = system.prefix(utf8Bytes: Self.textBytes)
    self.release = release.prefix(utf8Bytes: Self.textBytes)
    self.reachesBigPeer = reachesBigPeer
    self.metadata = metadata
  }

  /// Returns the encoded bytes of an application's metadata.
  public static func byteCount(of metadata: [TextKey: Value]) -> Int {
    var out = ByteWriter()
    ValueCodec.write(.map(metadata), to: &out)
    return out.count
  }

  /// Returns whether other peers can decode the metadata: the nesting must not be too deep.
  package static func isReadable(_ metadata: [TextKey: Value]) -> Bool {
    var out = ByteWriter()
    ValueCodec.write(.map(metadata), to: &out)
    var reader = ByteReader(out.bytes.span.bytes)
    return (try? ValueCodec.read(&reader, depth: 0)) != nil
  }

  package func encode(to out: inout ByteWriter) {
    out.write(site)
    out.writeVarint(version.start)
    out.writeVarint(version.number)
    out.write(kind.rawValue)
    out.write(reachesBigPeer ? 1 : 0)
    out.writeString(deviceName)
    out.writeString(system)
    out.writeString(release)
    ValueCodec.write(.map(metadata), to: &out)
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    site = try reader.readSite()
    version = Version(start: try reader.readVarint(), number: try reader.readVarint())
    guard version.number > 0 else {
      throw reader.failure(.malformed, "the first state of a peer has number 1")
    }
    guard let kind = PeerKind(rawValue: try reader.readByte()) else {
      throw reader.failure(.malformed, "the peer is of an unknown kind")
    }
    self.kind = kind
    reachesBigPeer = try reader.readFlag()
    deviceName = try reader.readString(limit: Self.textBytes)
    system = try reader.readString(limit: Self.textBytes)
    release = try reader.readString(limit: Self.textBytes)
    let start = reader.offset
    guard case .map(let metadata) = try ValueCodec.read(&reader, depth: 0) else {
      throw CodecError(.malformed, "metadata are not a map", at: start)
    }
    guard reader.offset - start <= Self.metadataBytes else {
      throw CodecError(.limit, "metadata have more than \(Self.metadataBytes) bytes", at: start)
    }
    self.metadata = metadata
  }
}

extension String {
  /// Returns as many whole characters as fit.
  func prefix(utf8Bytes limit: Int) -> String {
    var result = self
    while result.utf8.count > limit { result.removeLast() }
    return result
  }
}
