#if TLS
  import SwiftASN1
  import X509

  /// The purpose that makes a certificate that of a big peer: one more in its extended key usage.
  ///
  /// A certificate without it is that of a small peer. Software that does not know the purpose ignores it. So
  /// earlier releases accept such a certificate.
  enum BigPeerPurpose {
    /// The number after that of `PeerInformation`.
    static let usage = ExtendedKeyUsage.Usage(oid: [2, 25, 7_306_214_925_331_874_205])

    /// The purposes of a peer's certificate.
    ///
    /// - Parameter isBigPeer: Whether the peer is a big one.
    /// - Returns: The purposes of both ends of TLS, and of a big peer also its own.
    /// - Throws: The library's error, which none of these purposes causes.
    static func purposes(isBigPeer: Bool) throws -> ExtendedKeyUsage {
      try ExtendedKeyUsage([.serverAuth, .clientAuth] + (isBigPeer ? [usage] : []))
    }

    /// Whether a certificate has the purpose.
    ///
    /// - Throws: The library's error when the purposes cannot be read.
    static func isPresent(in certificate: Certificate) throws -> Bool {
      try certificate.extensions.extendedKeyUsage?.contains(usage) ?? false
    }
  }
#endif
