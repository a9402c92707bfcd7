#if TLS
  import Crypto
  import Foundation
  import SwiftASN1
  // Its time is that of this check, and not that of the system's clock.
  @_spi(FixedExpiryValidationTime) import X509

  /// Decides whether certificates prove that a peer belongs to the application: the one place where that is decided.
  struct CertificateCheck: Sendable {
    let trusted: TrustedAuthority
    /// The time; never before the own certificate's start, which is later than the clock of a device that lost its time.
    let now: @Sendable () -> Date
    /// Keys that are not believed any more, whatever their certificates say.
    var revoked = RevokedKeys()

    /// Checks what a peer presented.
    ///
    /// - Parameter presented: Its certificates, its own first.
    /// - Returns: Who it is.
    /// - Throws: `untrusted`, `expired` or `revoked`, saying why.
    func check(_ presented: [[UInt8]]) async throws(LinkError) -> PeerIdentity {
      do {
        return try await examine(presented)
      } catch {
        throw LinkError(
          error.code, "The peer has not proved that it belongs to the application: \(error.why)")
      }
    }

    /// Why certificates are not believed.
    struct Refusal: Error {
      /// `untrusted`, `expired` or `revoked`.
      let code: LinkError.Code
      /// The reason, without whose they are.
      let why: String
    }

    /// Checks certificates, whoever presents them.
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
      guard !revoked.contains(key) else { throw Refusal(code: .revoked, why: "its key is revoked") }
      let end = min(certificate.validUntil, trusted.validUntil)
      return PeerIdentity(
        key: key, proof: certificate.proof, user: certificate.user,
        validUntil: Int64(end.timeIntervalSince1970 * 1_000), information: certificate.information)
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

    /// Lets the library build a chain to the authority and check its signatures and rules.
    private func verify(_ chain: [Certificate], at now: Date) async throws(Refusal) {
      var verifier = Verifier(rootCertificates: CertificateStore([trusted.certificate])) {
        PeerPolicy()
        RFC5280Policy(fixedExpiryValidationTime: now)
      }
      let result = await verifier.validate(leaf: chain[0], intermediates: CertificateStore(chain.dropFirst()))
      guard case .validCertificate(let valid) = result else {
        guard case .couldNotValidate(let failures) = result, let failure = failures.first else {
          throw Self.refused(
            "it was not issued by the application's authority, or has a critical extension that is not known here"
          )
        }
        // What the library says names all that the certificate says.
        let why = "\(failure.policyFailureReason)"
        throw Self.refused(
          PeerPolicy.reasons.contains(why)
            ? why : "its certificates are no chain to the application's authority")
      }
      // What is no part of the chain was not verified, and what is left out would not be looked at below.
      guard valid.count == chain.count + 1, zip(valid, chain).allSatisfy({ $0 == $1 }) else {
        throw Self.refused("it presents certificates that are no part of its chain, or in another order")
      }
    }

    private func checkStatement(_ certificate: PeerCertificate) throws(Refusal) {
      for (place, part) in certificate.chain.enumerated() {
        // What cannot be read was refused before.
        guard let statement = try? PeerExtension(part), statement.application == trusted.application else {
          throw Self.refused("its certificate is for another application")
        }
        // Nothing enforces that what an intermediate issues stays within what is said of the intermediate itself.
        guard
          place == 0
            || statement.proof == trusted.proof && statement.user == nil && statement.rules == nil
        else { throw Self.refused("an intermediate certificate says more than its application") }
      }
      let isAccepted =
        trusted.proof == .sharedKey ? certificate.proof == .sharedKey : certificate.proof != .sharedKey
      guard isAccepted else { throw Self.refused("its certificate rests on another kind of proof") }
      guard certificate.proof != .sharedKey || certificate.user == nil else {
        throw Self.refused("a shared key proves no user")
      }
      guard !certificate.isRestricted else {
        throw Self.refused("its certificate restricts what it may do, which is not enforced here")
      }
    }

    private static func refused(_ why: String) -> Refusal { Refusal(code: .untrusted, why: why) }

    private static func text(_ date: Date) -> String {
      date.formatted(.iso8601)
    }
  }

  /// What certificates of peers must be beside what the standard asks for.
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
    /// What it says, which is nothing of the certificate.
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
        // Each certificate counts, also one that has its issuer's name, which the standard does not count.
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
