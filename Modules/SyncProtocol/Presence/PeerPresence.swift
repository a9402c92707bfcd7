public import CRDTCore

/// What a peer says of itself to those who ask who is there.
public struct PeerPresence: Hashable, Sendable {
  /// Tells one state of what a peer says from another: the later one is the greater.
  public struct Version: Hashable, Comparable, Sendable {
    /// When the peer's process began to take part, in milliseconds since 1970 by its clock.
    public let start: UInt64
    /// Counts the states since then, from 1.
    public let number: UInt64

    public init(start: UInt64, number: UInt64) {
      self.start = start
      self.number = number
    }

    /// Before the first state of any peer.
    public static let none = Version(start: 0, number: 0)

    public static func < (left: Version, right: Version) -> Bool {
      (left.start, left.number) < (right.start, right.number)
    }
  }

  /// The store that the peer writes with.
  public var site: SiteID
  /// Which state this is.
  public var version: Version
  /// A device or the cloud peer.
  public var kind: PeerKind
  /// What the peer's device is called.
  @TextKey public var deviceName: String
  /// The operating system that it runs on, for example `Linux 6.1`.
  @TextKey public var system: String
  /// The version of this library that it uses.
  @TextKey public var release: String
  /// Whether it is a big peer, or is connected to one.
  public var reachesBigPeer: Bool
  /// What its application wants others to know.
  public var metadata: [TextKey: Value]

  /// Encoded bytes of what the application adds.
  public static let metadataBytes = 4_096
  /// UTF-8 bytes of each text.
  public static let textBytes = 128

  /// Collects what a peer says; texts that are too long are cut at a character.
  ///
  /// - Precondition: The metadata have at most ``metadataBytes``, as ``byteCount(of:)`` says.
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

  /// Bytes that an application's metadata take.
  public static func byteCount(of metadata: [TextKey: Value]) -> Int {
    var out = ByteWriter()
    ValueCodec.write(.map(metadata), to: &out)
    return out.count
  }

  /// Whether others can read an application's metadata, which must not be nested too deep.
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
  /// As many whole characters as fit.
  func prefix(utf8Bytes limit: Int) -> String {
    var result = self
    while result.utf8.count > limit { result.removeLast() }
    return result
  }
}
