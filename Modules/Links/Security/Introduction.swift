#if TLS
  import CRDTCore
  import Crypto
  import X509
  import SwiftASN1

  /// The first bytes that each end of a connection sends inside TLS; always the same number of bytes.
  ///
  /// They bind all later bytes to the certificate and to this handshake, and prove the site. They also
  /// distinguish two processes that use the same key.
  struct Introduction: Hashable, Sendable {
    static let version: UInt8 = 1
    static let byteCount = 1 + bindingBytes + 8 + 16 + 16
    private static let bindingBytes = 32

    /// A value that only both ends of the handshake know.
    ///
    /// See ``HandshakeSecret/binding(of:certificate:)``.
    var binding: [UInt8]
    /// A random number that identifies the process.
    var instance: UInt64
    var site: SiteID
    /// The salt that derives the site from the peer key.
    var salt: SiteSalt

    var bytes: [UInt8] {
      var out = ByteWriter(capacity: Self.byteCount)
      out.write(Self.version)
      out.write(binding)
      out.writeFixed(instance)
      out.write(site)
      out.writeFixed(salt.high)
      out.writeFixed(salt.low)
      return out.bytes
    }

    init(binding: [UInt8], instance: UInt64, site: SiteID, salt: SiteSalt) {
      self.binding = binding
      self.instance = instance
      self.site = site
      self.salt = salt
    }

    init(_ bytes: [UInt8]) throws(CodecError) {
      var reader = ByteReader(bytes.span.bytes)
      guard try reader.readByte() == Self.version else {
        throw reader.failure(.unsupportedVersion, "an introduction of another version")
      }
      binding = try reader.readBytes(Self.bindingBytes).withUnsafeBytes { Array($0) }
      instance = try reader.readFixed()
      site = try reader.readSite()
      salt = SiteSalt(high: try reader.readFixed(), low: try reader.readFixed())
    }
  }

  /// One of the ends of a handshake.
  enum HandshakeEnd: UInt8 {
    case dialing = 1
    case listening = 2

    var other: HandshakeEnd { self == .dialing ? .listening : .dialing }
  }

  /// The secret of a handshake, from which others are derived (RFC 8446, 7.5).
  struct HandshakeSecret: Sendable {
    private let secret: [UInt8]

    private init(_ secret: [UInt8]) { self.secret = secret }

    /// Reads the number of a handshake and its secret from a line of a key log; `nil` for any other line.
    ///
    /// The format is that of NSS.
    static func read(keyLogLine: String) -> (ClientRandom, HandshakeSecret)? {
      let words = keyLogLine.split { $0 == " " || $0 == "\n" }
      guard words.count == 3, words[0] == "EXPORTER_SECRET", let random = ClientRandom(digits: words[1]),
        let secret = [UInt8](hexDigits: words[2]), secret.count == 32 || secret.count == 48
      else { return nil }
      return (random, HandshakeSecret(secret))
    }

    /// The 32 bytes by which an end binds itself to the handshake and its certificate.
    ///
    /// Nobody else can know them.
    func binding(of end: HandshakeEnd, certificate: [UInt8]) -> [UInt8] {
      let context = [end.rawValue] + Array(SHA256.hash(data: certificate))
      return secret.count == 32
        ? Self.export(SHA256.self, secret, context) : Self.export(SHA384.self, secret, context)
    }

    private static let label = "EXPERIMENTAL dunlin introduction"

    /// RFC 8446, 7.5, with a value of 32 bytes.
    private static func export<H: HashFunction>(_ hash: H.Type, _ secret: [UInt8], _ context: [UInt8])
      -> [UInt8]
    {
      let own = expand(
        hash, SymmetricKey(data: secret), label, Array(H.hash(data: [UInt8]())), H.Digest.byteCount)
      return expand(hash, SymmetricKey(data: own), "exporter", Array(H.hash(data: context)), 32)
    }

    /// RFC 8446, 7.1: HKDF-Expand-Label.
    private static func expand<H: HashFunction>(
      _ hash: H.Type, _ secret: SymmetricKey, _ label: String, _ context: [UInt8], _ count: Int
    ) -> [UInt8] {
      let name = Array("tls13 \(label)".utf8)
      let info =
        [UInt8(count >> 8), UInt8(count & 255), UInt8(name.count)] + name + [UInt8(context.count)] + context
      return HKDF<H>.expand(pseudoRandomKey: secret, info: info, outputByteCount: count)
        .withUnsafeBytes { Array($0) }
    }
  }
#endif
