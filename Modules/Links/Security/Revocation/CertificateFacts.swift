#if TLS
  import Crypto
  import Foundation
  import SwiftASN1
  import X509

  /// What revocations can name of a peer's certificates.
  struct CertificateFacts: Sendable {
    /// What identifies one certificate.
    struct Name: Hashable, Sendable {
      let issuer: AuthorityHash
      let serialNumber: [UInt8]
    }

    /// The peer's key.
    let key: PeerKey?
    let user: String?
    /// The start of the validity of the peer's own certificate, in seconds since 1970.
    let validFrom: Int64
    /// The name of the peer's own certificate.
    let name: Name
    /// The names and keys of the intermediate authorities above it.
    let authorities: [(name: Name, key: PeerKey?)]

    /// Reads the facts of a chain, which must have a certificate.
    init?(_ chain: [Certificate], below trusted: TrustedAuthority) {
      guard let leaf = chain.first else { return nil }
      func name(at place: Int) -> Name {
        let issuer = place + 1 < chain.count ? chain[place + 1] : trusted.certificate
        return Name(
          issuer: AuthorityHash(issuer.publicKey), serialNumber: Array(chain[place].serialNumber.bytes))
      }
      key = Self.key(leaf)
      user = (try? PeerExtension(leaf))?.user
      validFrom = Int64(leaf.notValidBefore.timeIntervalSince1970)
      self.name = name(at: 0)
      authorities = chain.indices.dropFirst().map { (name(at: $0), Self.key(chain[$0])) }
    }

    /// Reads the facts of a chain in DER form; `nil` for one that cannot be read.
    init?(der chain: [[UInt8]], below trusted: TrustedAuthority) {
      guard let chain = try? chain.map({ try Certificate(derEncoded: $0) }) else { return nil }
      self.init(chain, below: trusted)
    }

    private static func key(_ certificate: Certificate) -> PeerKey? {
      P256.Signing.PublicKey(certificate.publicKey).map { PeerKey($0) }
    }
  }

  extension PeerCertificate {
    /// What revokes this certificate.
    ///
    /// - Parameter trusted: The application's authority, which has issued it or certified its issuer.
    /// - Returns: The certificate by its issuer and serial number.
    package func revocation(below trusted: TrustedAuthority) -> RevocationEntry.Subject {
      let issuer = chain.count > 1 ? chain[1] : trusted.certificate
      return .certificate(
        issuer: AuthorityHash(issuer.publicKey), serialNumber: Array(chain[0].serialNumber.bytes))
    }
  }

  extension [UInt8] {
    /// Reads the hexadecimal digits of a serial number; `nil` for anything else.
    package init?(serialNumber digits: String) {
      guard let bytes = [UInt8](hexDigits: digits), 1...20 ~= bytes.count else { return nil }
      // A serial number is a number: other programs print a zero in front of some.
      self = Array(bytes.drop { $0 == 0 })
      if isEmpty { self = [0] }
    }
  }
#endif
