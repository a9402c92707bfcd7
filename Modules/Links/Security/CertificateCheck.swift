#if TLS
  import Crypto
  import Foundation
  import SwiftASN1
  // This check uses its own time, not the system's clock.
  @_spi(FixedExpiryValidationTime) import X509

  /// Decides whether certificates prove that a peer belongs to the application.
  ///
  /// No other place makes this decision.
  struct CertificateCheck: Sendable {
    let trusted: TrustedAuthority
    /// The time, and never before the start of the own certificate.
    ///
    /// The start is later than the clock of a device that lost its time.
    let now: @Sendable () -> Date
    /// What is no longer trusted, whatever certificates say.
    var revoked = RevokedKeys()

    /// Checks the certificates that a peer presented.
    ///
    /// - Parameter presented: The peer's certificates, its own first.
    /// - Returns: The identity of the peer.
    /// - Throws: `untrusted`, `expired` or `revoked`, with the reason.
    func check(_ presented: [[UInt8]]) async throws(LinkError) -> PeerIdentity {
      do {
        return try await examine(presented)
      } catch {
        throw LinkError(
          error.code, "The peer has not proved that it belongs to the application: \(error.why)")
      }
    }

    /// Why certificates are refused.
    struct Refusal: Error {
      /// `untrusted`, `expired` or `revoked`.
      let code: LinkError.Code
      /// The reason, without the name of the peer.
      let why: String
    }

    /// Checks the certificates of any peer.
    func examine(_ presented: [[UInt8]]) async throws(Refusal) -> PeerIdentity {
      guard 1...PeerCertificate.chainLimit ~= presented.count else {
        throw Self.refused(
          "it presents \(presented.count) certificates, of at most \(PeerCertificate.chainLimit)")
      }
      guard presented.allSatisfy({ $0.count <= PeerCertificate.byteLimit }) else {
        throw Self.refused("a certificate has more than \(PeerCertificate.byteLimit) bytes")
      }
      let chain: [Certificate]
      do {
        chain = try presented.map { try Certificate(derEncoded: $0) }
      } catch {
        throw Self.refused("its certificate cannot be read")
      }
      let now = now()
      for certificate in chain + [trusted.certificate] { try Self.check(certificate, at: now) }
      let certificate: PeerCertificate
      do {
        certificate = try PeerCertificate(chain)
      } catch {
        throw Self.refused(error.message)
      }
      try await verify(chain, at: now)
      try checkStatement(certificate)
      guard let key = certificate.peerKey else { throw Self.refused("its key is not one of P-256") }
      if let why = CertificateFacts(chain, below: trusted).flatMap({ revoked.reason($0) }) {
        throw Refusal(code: .revoked, why: why)
      }
      let end = min(certificate.validUntil, trusted.validUntil)
      return PeerIdentity(
        key: key, proof: certificate.proof, user: certificate.user,
        validUntil: Int64(end.timeIntervalSince1970 * 1_000), information: certificate.information,
        grantHash: certificate.grantHash, isBigPeer: certificate.isBigPeer)
    }

    private static func check(_ certificate: Certificate, at now: Date) throws(Refusal) {
      let (start, end) = (certificate.notValidBefore, certificate.notValidAfter)
      guard now >= start, now <= end else {
        throw Refusal(
          code: now < start ? .untrusted : .expired,
          why:
            "a certificate is valid from \(text(start)) until \(text(end)), and the clock here says \(text(now))"
        )
      }
    }

    /// Lets the library build a chain to the authority, and check the chain's signatures and rules.
    private func verify(_ chain: [Certificate], at now: Date) async throws(Refusal) {
      var verifier = Verifier(rootCertificates: CertificateStore([trusted.certificate])) {
        PeerPolicy()
        RFC5280Policy(fixedExpiryValidationTime: now)
      }
      let result = await verifier.validate(leaf: chain[0], intermediates: CertificateStore(chain.dropFirst()))
      guard case .validCertificate(let valid) = result else {
        guard case .couldNotValidate(let failures) = result, let failure = failures.first else {
          throw Self.refused(stranger(chain[0]))
        }
        // The library's report contains everything that is in the certificate.
        let why = "\(failure.policyFailureReason)"
        throw Self.refused(
          PeerPolicy.reasons.contains(why)
            ? why : "its certificates are no chain to the application's authority")
      }
      // The library did not verify certificates outside the chain. The checks below would not see omitted
      // ones.
      guard valid.count == chain.count + 1, zip(valid, chain).allSatisfy({ $0 == $1 }) else {
        throw Self.refused("it presents certificates that are no part of its chain, or in another order")
      }
    }

    /// Why no chain leads from a certificate to the authority.
    ///
    /// The certificate's statement is unproven here. It tells which of the two ends is likely to be wrong.
    private func stranger(_ leaf: Certificate) -> String {
      let statement = (try? PeerExtension(leaf)).flatMap { $0 }
      guard trusted.proof == .sharedKey else {
        if statement?.proof == .sharedKey {
          return "it proves itself by a shared key, and this peer accepts certificates only"
        }
        return
          "it was not issued by the application's authority, or has a critical extension that is not known here"
      }
      guard let statement, statement.proof == .sharedKey else {
        return "it proves itself by a certificate, and this peer accepts the shared key only"
      }
      // The application's id is an ingredient of the key.
      guard statement.application == trusted.application else {
        return
          "it belongs to the application '\(PlainText.of(statement.application))', and this one to '\(trusted.application)': both need the same application id, and the same shared key"
      }
      return "its shared key is another one than this peer's: both need the same key"
    }

    private func checkStatement(_ certificate: PeerCertificate) throws(Refusal) {
      for (place, part) in certificate.chain.enumerated() {
        // A certificate that cannot be read was refused before.
        guard let statement = try? PeerExtension(part), statement.application == trusted.application else {
          throw Self.refused("its certificate is for another application")
        }
        // Nothing enforces that certificates of an intermediate stay within restrictions of the intermediate
        // itself.
        guard
          place == 0
            || statement.proof == trusted.proof && statement.user == nil && statement.grant == nil
        else { throw Self.refused("an intermediate certificate says more than its application") }
      }
      let isAccepted =
        trusted.proof == .sharedKey ? certificate.proof == .sharedKey : certificate.proof != .sharedKey
      guard isAccepted else { throw Self.refused("its certificate rests on another kind of proof") }
      guard certificate.proof != .sharedKey || certificate.user == nil else {
        throw Self.refused("a shared key proves no user")
      }
      guard certificate.proof != .sharedKey || !certificate.isBigPeer else {
        throw Self.refused("a shared key proves no kind of peer")
      }
      guard certificate.proof != .sharedKey || certificate.grantHash == nil else {
        throw Self.refused("a shared key proves no grant")
      }
    }

    private static func refused(_ why: String) -> Refusal { Refusal(code: .untrusted, why: why) }

    private static func text(_ date: Date) -> String {
      date.timeText
    }
  }

  /// What certificates of peers must fulfil in addition to the standard.
  private struct PeerPolicy: VerifierPolicy {
    var verifyingCriticalExtensions: [ASN1ObjectIdentifier] { [PeerExtension.identifier] }

    private static let kinds = "a certificate has another kind of key or signature than P-256"
    private static let authoritysOwn = "the authority's own certificate is none of a peer"
    private static let isAuthority = "its certificate is that of an authority"
    private static let usage = "its certificate is for another usage"
    private static let purpose = "its certificate is for another purpose"
    private static let mayNotIssue = "a certificate of the chain may not issue others"
    private static let pathLength = "a certificate of the chain may not have so many certificates below it"
    private static let intermediateUsage = "an intermediate certificate is for another usage too"
    /// The reasons of this policy.
    ///
    /// They contain nothing of the certificate.
    static let reasons: Set<String> = [
      kinds, authoritysOwn, isAuthority, usage, purpose, mayNotIssue, pathLength, intermediateUsage,
    ]

    mutating func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) async
      -> PolicyEvaluationResult
    {
      do {
        return try Self.evaluate(Array(chain))
      } catch {
        return .failsToMeetPolicy(reason: "an extension cannot be read")
      }
    }

    private static func evaluate(_ chain: [Certificate]) throws -> PolicyEvaluationResult {
      for certificate in chain {
        guard certificate.signatureAlgorithm == .ecdsaWithSHA256,
          P256.Signing.PublicKey(certificate.publicKey) != nil
        else { return .failsToMeetPolicy(reason: kinds) }
      }
      guard let leaf = chain.first, chain.count >= 2 else {
        return .failsToMeetPolicy(reason: authoritysOwn)
      }
      guard case .notCertificateAuthority? = try leaf.extensions.basicConstraints else {
        return .failsToMeetPolicy(reason: isAuthority)
      }
      guard let usage = try leaf.extensions.keyUsage, usage.digitalSignature, !usage.keyCertSign else {
        return .failsToMeetPolicy(reason: usage)
      }
      guard let purposes = try leaf.extensions.extendedKeyUsage, purposes.contains(.serverAuth),
        purposes.contains(.clientAuth)
      else { return .failsToMeetPolicy(reason: purpose) }
      for (below, authority) in chain.dropFirst().enumerated() {
        let isIntermediate = below < chain.count - 2
        guard let usage = try authority.extensions.keyUsage, usage.keyCertSign,
          case .isCertificateAuthority(let pathLength)? = try authority.extensions.basicConstraints
        else { return .failsToMeetPolicy(reason: mayNotIssue) }
        // Each certificate counts. The standard does not count those whose subject and issuer have the same
        // name.
        guard pathLength.map({ below <= $0 }) ?? !isIntermediate else {
          return .failsToMeetPolicy(reason: Self.pathLength)
        }
        if isIntermediate {
          guard usage == KeyUsage(keyCertSign: true), try authority.extensions.extendedKeyUsage == nil else {
            return .failsToMeetPolicy(reason: intermediateUsage)
          }
        }
      }
      return .meetsPolicy
    }
  }
#endif
