#if TLS
  import Crypto
  import X509

  /// The SHA-256 of an authority's public key, by which revocations name the authority.
  ///
  /// The key is hashed as a point of the curve, uncompressed (SEC 1, 65 bytes). The name stays when the
  /// authority's certificate is renewed.
  package struct AuthorityHash: Hashable, Sendable, CustomStringConvertible {
    static let byteCount = 32
    /// The number of bytes by which peers name an authority to each other.
    static let shortBytes = 8

    /// 32 bytes.
    package let bytes: [UInt8]

    init(_ key: Certificate.PublicKey) { bytes = Array(SHA256.hash(data: key.subjectPublicKeyInfoBytes)) }

    /// Takes the bytes of a hash; `nil` for another number of bytes.
    package init?(bytes: [UInt8]) {
      guard bytes.count == Self.byteCount else { return nil }
      self.bytes = bytes
    }

    /// The first bytes.
    var short: [UInt8] { Array(bytes.prefix(Self.shortBytes)) }

    /// The first bytes in hexadecimal, as status and log name the authority.
    package var description: String { short.hexDigits }
  }

  extension TrustedAuthority {
    /// The hash that names this authority in revocations.
    package var hash: AuthorityHash { AuthorityHash(certificate.publicKey) }
  }

  extension PeerAuthority {
    /// The hash that names this authority in revocations.
    package var hash: AuthorityHash { AuthorityHash((intermediate ?? trusted.certificate).publicKey) }
  }

  extension [UInt8] {
    /// The bytes in hexadecimal.
    var hexDigits: String {
      map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
  }
#endif
