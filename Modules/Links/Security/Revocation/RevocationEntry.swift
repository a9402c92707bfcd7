#if TLS
  import CRDTCore
  import Foundation

  /// One entry of a revocation list: what is no longer trusted, and until when that must be known.
  ///
  /// `Documentation/Revocation.md` has the format.
  package struct RevocationEntry: Hashable, Sendable {
    /// What is no longer trusted.
    package enum Subject: Hashable, Sendable {
      /// A device key, with every certificate for it.
      case key(PeerKey)
      /// One certificate.
      case certificate(issuer: AuthorityHash, serialNumber: [UInt8])
      /// The certificates of a user whose validity begins before a time, in seconds since 1970.
      case user(String, issuedBefore: Int64)
      /// A kind of entry of a later release: it is kept, handed on, and has no effect here.
      case unknown(kind: UInt8, content: [UInt8])
    }

    /// The most bytes that an entry takes, without its length.
    static let byteLimit = 192
    /// The most bytes of a serial number (RFC 5280).
    private static let serialBytes = 20
    /// The end of the year 9999 in seconds since 1970.
    ///
    /// No certificate is valid for longer.
    package static let latest: Int64 = 253_402_300_799

    package let subject: Subject
    /// The end of the validity of what the entry names, in seconds since 1970.
    ///
    /// After that, the entry is not needed any more.
    package let neededUntil: Int64

    /// Makes an entry.
    ///
    /// - Parameters:
    ///   - subject: What is no longer trusted.
    ///   - neededUntil: The end of the validity of what it names, in seconds since 1970.
    /// - Throws: `malformed` for a user or a serial number that no certificate can have, and for a time
    ///   outside of the years 1970 to 9999.
    package init(_ subject: Subject, neededUntil: Int64) throws(LinkError) {
      (self.subject, self.neededUntil) = (subject, neededUntil)
      guard 0...Self.latest ~= neededUntil else { throw Self.refused("a time after the year 9999") }
      switch subject {
      case .key: break
      case .certificate(_, let serialNumber):
        guard 1...Self.serialBytes ~= serialNumber.count else {
          throw Self.refused("a serial number has 1 to \(Self.serialBytes) bytes")
        }
      case .user(let user, let issuedBefore):
        guard 1...PeerExtension.textBytes ~= user.utf8.count else {
          throw Self.refused("a user has 1 to \(PeerExtension.textBytes) bytes")
        }
        guard 0...Self.latest ~= issuedBefore else { throw Self.refused("a time after the year 9999") }
      case .unknown(let kind, let content):
        guard kind > 3, content.count < Self.byteLimit - 10 else {
          throw Self.refused("a kind of entry that is none")
        }
      }
    }

    private static func refused(_ why: String) -> LinkError {
      LinkError(.malformed, "A revocation cannot be made: \(why)")
    }

    /// Whether the entry is still needed at a time.
    func isNeeded(at time: Date) -> Bool { Double(neededUntil) >= time.timeIntervalSince1970 }

    func encode(to out: inout ByteWriter) {
      var body = ByteWriter(capacity: 64)
      switch subject {
      case .key: body.write(1)
      case .certificate: body.write(2)
      case .user: body.write(3)
      case .unknown(let kind, _): body.write(kind)
      }
      body.writeVarint(UInt64(neededUntil))
      switch subject {
      case .key(let key): body.write(key.bytes)
      case .certificate(let issuer, let serialNumber):
        body.write(issuer.bytes)
        body.write(serialNumber)
      case .user(let user, let issuedBefore):
        body.writeVarint(UInt64(issuedBefore))
        body.write(Array(user.utf8))
      case .unknown(_, let content): body.write(content)
      }
      out.writeBlob(body.bytes)
    }

    init(from reader: inout ByteReader) throws(CodecError) {
      let start = reader.offset
      let body = try reader.readBlob()
      guard body.byteCount <= Self.byteLimit else {
        throw CodecError(.limit, "an entry has more than \(Self.byteLimit) bytes", at: start)
      }
      var inner = ByteReader(body)
      let kind = try inner.readByte()
      guard let neededUntil = Int64(exactly: try inner.readVarint()) else {
        throw CodecError(.malformed, "a time is after the year 9999", at: start)
      }
      let subject: Subject
      switch kind {
      case 0: throw CodecError(.malformed, "an entry of the kind 0", at: start)
      case 1:
        let bytes = try Self.copy(inner.readBytes(PeerKey.byteCount))
        guard inner.isAtEnd, let key = PeerKey(bytes) else {
          throw CodecError(.malformed, "a device key has another number of bytes", at: start)
        }
        subject = .key(key)
      case 2:
        let hash = try Self.copy(inner.readBytes(AuthorityHash.byteCount))
        guard let issuer = AuthorityHash(bytes: hash) else {
          throw CodecError(.malformed, "no hash of an authority", at: start)
        }
        subject = .certificate(
          issuer: issuer, serialNumber: Self.copy(try inner.readBytes(inner.remaining)))
      case 3:
        guard let time = Int64(exactly: try inner.readVarint()) else {
          throw CodecError(.malformed, "a time is after the year 9999", at: start)
        }
        let text = Self.copy(try inner.readBytes(inner.remaining))
        guard let user = String(validating: text, as: UTF8.self) else {
          throw CodecError(.malformed, "a user is not UTF-8", at: start)
        }
        subject = .user(user, issuedBefore: time)
      default:
        subject = .unknown(kind: kind, content: Self.copy(try inner.readBytes(inner.remaining)))
      }
      do throws(LinkError) {
        try self.init(subject, neededUntil: neededUntil)
      } catch {
        throw CodecError(.malformed, error.message, at: start)
      }
    }

    static func copy(_ span: RawSpan) -> [UInt8] { span.withUnsafeBytes { Array($0) } }
  }
#endif
