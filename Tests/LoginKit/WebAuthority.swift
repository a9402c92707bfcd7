#if TLS
  import Crypto
  package import Foundation
  import SwiftASN1
  import X509

  /// An authority of the web of a test's own, which issues certificates to web servers.
  package struct WebAuthority: Sendable {
    private let key: P256.Signing.PrivateKey
    private let name: DistinguishedName
    /// Its certificate (PEM), which clients are given.
    package let certificate: String

    package init() throws {
      key = P256.Signing.PrivateKey()
      name = try DistinguishedName { CommonName("a web authority") }
      let certificate = try Certificate(
        version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(key.publicKey),
        notValidBefore: Date(timeIntervalSinceNow: -86_400),
        notValidAfter: Date(timeIntervalSinceNow: 86_400),
        issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
        extensions: Certificate.Extensions {
          Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
          Critical(KeyUsage(keyCertSign: true))
        }, issuerPrivateKey: .init(key))
      self.certificate = try certificate.serializeAsPEM().pemString + "\n"
    }

    /// Issues a certificate.
    ///
    /// - Parameters:
    ///   - host: The name that it is for.
    ///   - validity: From when and until when it holds.
    /// - Returns: The certificate and its private key (PEM).
    /// - Throws: What the library throws.
    package func issue(
      _ host: String = "localhost",
      validity: Range<Date> = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600)
    ) throws -> (certificate: String, key: String) {
      let own = P256.Signing.PrivateKey()
      let certificate = try Certificate(
        version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(own.publicKey),
        notValidBefore: validity.lowerBound, notValidAfter: validity.upperBound, issuer: name,
        subject: try DistinguishedName { CommonName(host) }, signatureAlgorithm: .ecdsaWithSHA256,
        extensions: Certificate.Extensions {
          Critical(BasicConstraints.notCertificateAuthority)
          SubjectAlternativeNames([.dnsName(host)])
        }, issuerPrivateKey: .init(key))
      return (try certificate.serializeAsPEM().pemString + "\n", own.pemRepresentation + "\n")
    }
  }
#endif
