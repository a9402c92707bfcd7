package import CRDTCore

/// The first frame of either side: its identity and its protocol versions.
package struct Hello: Hashable, Sendable {
  /// `DNLN`, so that other protocols are recognized immediately.
  package static let magic: UInt32 = 0x444E_4C4E

  package var versions: ClosedRange<UInt16>
  /// Bits for optional abilities in later releases: none is set here, and none has a meaning.
  package var reserved: UInt64 = 0
  package var kind: PeerKind
  @TextKey package var appID: String
  @TextKey package var peerName: String
  package var site: SiteID
  package var logEpoch: UInt64
  /// The highest HLC timestamp that the site has issued, if it is sent.
  package var highest: ClockReading?
  /// The peer considers the link dead after this long without a frame; `nil` for the usual time.
  package var silence: Duration?
  /// Identifies this opening of the store; a copy of the store usually has another value.
  package var incarnation: UInt16?

  package init(
    versions: ClosedRange<UInt16>, kind: PeerKind, appID: String, peerName: String, site: SiteID,
    logEpoch: UInt64, highest: ClockReading? = nil, silence: Duration? = nil, incarnation: UInt16? = nil
  ) {
    self.versions = versions
    self.kind = kind
    self.appID = appID
    self.peerName = peerName
    self.site = site
    self.logEpoch = logEpoch
    self.highest = highest
    self.silence = silence
    self.incarnation = incarnation
  }

  private enum Tag: UInt64 {
    case reserved = 1
    case kind = 2
    case appID = 3
    case peerName = 4
    case site = 5
    case logEpoch = 6
    case highest = 7
    case silence = 8
    case incarnation = 9
  }

  package func encode(to out: inout ByteWriter) {
    out.writeFixed(Self.magic)
    out.writeFixed(versions.lowerBound)
    out.writeFixed(versions.upperBound)
    // Zero bits need no field; without a number of the opening the bytes are those of earlier releases.
    if reserved != 0 || incarnation == nil { Self.field(.reserved, &out) { $0.writeVarint(reserved) } }
    Self.field(.kind, &out) { $0.write(kind.rawValue) }
    Self.field(.appID, &out) { $0.write(appID.utf8) }
    Self.field(.peerName, &out) { $0.write(peerName.utf8) }
    Self.field(.site, &out) { $0.write(site) }
    Self.field(.logEpoch, &out) { $0.writeFixed(logEpoch) }
    if let highest { Self.field(.highest, &out) { $0.writeFixed(highest.rawValue) } }
    if let silence { Self.field(.silence, &out) { $0.writeVarint(silence.wholeMilliseconds) } }
    if let incarnation { Self.field(.incarnation, &out) { $0.writeFixed(incarnation) } }
  }

  private static func field(_ tag: Tag, _ out: inout ByteWriter, _ body: (inout ByteWriter) -> Void) {
    var content = ByteWriter()
    body(&content)
    out.writeVarint(tag.rawValue)
    out.writeBlob(content.bytes)
  }

  /// Decodes a hello; unknown fields are skipped.
  package init(from reader: inout ByteReader) throws(CodecError) {
    guard try reader.readFixed(as: UInt32.self) == Self.magic else {
      throw CodecError(.malformed, "the peer does not speak this protocol")
    }
    let low = try reader.readFixed(as: UInt16.self)
    let high = try reader.readFixed(as: UInt16.self)
    guard low > 0, low <= high else { throw reader.failure(.malformed, "the version range is empty") }
    var fields = Fields()
    var last: UInt64 = 0
    while !reader.isAtEnd {
      let tag = try reader.readVarint()
      guard tag > last else { throw reader.failure(.malformed, "fields are not in ascending order") }
      last = tag
      let start = reader.offset
      let content = try reader.readBlob()
      do { try fields.decode(tag, content) } catch { throw CodecError(error.code, error.message, at: start) }
    }
    guard let kind = fields.kind, let appID = fields.appID, let site = fields.site,
      let epoch = fields.logEpoch
    else {
      throw reader.failure(.malformed, "a field is missing")
    }
    guard site != .zero else { throw reader.failure(.malformed, "the site id is zero") }
    self.init(
      versions: low...high, kind: kind, appID: appID, peerName: fields.peerName, site: site, logEpoch: epoch,
      highest: fields.highest, silence: fields.silence, incarnation: fields.incarnation)
    reserved = fields.reserved
  }

  private struct Fields {
    var reserved: UInt64 = 0
    var kind: PeerKind?
    var appID: String?
    var peerName = ""
    var site: SiteID?
    var logEpoch: UInt64?
    var highest: ClockReading?
    var silence: Duration?
    var incarnation: UInt16?

    mutating func decode(_ tag: UInt64, _ content: RawSpan) throws(CodecError) {
      guard let tag = Tag(rawValue: tag) else { return }
      var reader = ByteReader(content)
      switch tag {
      case .reserved: reserved = try reader.readVarint()
      case .kind:
        kind = PeerKind(rawValue: try reader.readByte())
        guard kind != nil else { throw reader.failure(.malformed, "the peer is of an unknown kind") }
      case .appID: appID = try Self.name(&reader)
      case .peerName: peerName = try Self.name(&reader)
      case .site: site = try reader.readSite()
      case .logEpoch: logEpoch = try reader.readFixed()
      case .highest: highest = ClockReading(rawValue: try reader.readFixed())
      case .incarnation: incarnation = try reader.readFixed()
      case .silence: silence = .milliseconds(UInt32(clamping: try reader.readVarint()))
      }
      guard reader.isAtEnd else { throw reader.failure(.malformed, "a field is too long") }
    }

    private static func name(_ reader: inout ByteReader) throws(CodecError) -> String {
      guard reader.remaining <= SyncLimits.nameBytes else {
        throw reader.failure(.limit, "a name is too long")
      }
      let span = try reader.readBytes(reader.remaining)
      guard let name = span.text else {
        throw CodecError(.malformed, "a name is not UTF-8")
      }
      return name
    }
  }
}

extension Duration {
  fileprivate var wholeMilliseconds: UInt64 {
    let (seconds, attoseconds) = components
    return UInt64(clamping: seconds) * 1_000 + UInt64(clamping: attoseconds / 1_000_000_000_000_000)
  }
}
