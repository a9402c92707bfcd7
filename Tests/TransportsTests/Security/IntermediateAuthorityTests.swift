#if TLS
  import CRDTCore
  import Crypto
  import Foundation
  import SwiftASN1
  import TestKit
  import Testing
  import X509

  @testable import Links

  @Suite struct IntermediateAuthorityTests {
    private let authority: PeerAuthority
    private let start: Date
    private let end: Date

    init() throws {
      // Certificates know whole seconds.
      let now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())
      (start, end) = (now - 3_600, now + 864_000)
      authority = try PeerAuthority(application: "garage", validity: start..<end)
    }

    private func check(_ certificate: PeerCertificate, now: Date = Date()) async throws -> PeerIdentity {
      try await CertificateCheck(trusted: authority.trusted, now: { now }).check(
        certificate.chain.map { try $0.bytes() })
    }

    private func message(_ make: () throws -> Any) -> String {
      (#expect(throws: LinkError.self) { _ = try make() })?.message ?? ""
    }

    @Test func `what it issues is believed by who knows its parent only, and is small`() async throws {
      let key = DeviceKey()
      let intermediate = try authority.makeIntermediate(validity: start..<Date(timeIntervalSinceNow: 600))
      let certificate = try intermediate.issue(
        for: key.peerKey, user: "ann", validity: start..<Date(timeIntervalSinceNow: 60), proof: .online)
      #expect(certificate.chain.count == 2)
      for part in certificate.chain { try expect(part.bytes().count < 600) }
      let identity = try await check(certificate)
      #expect(identity.key == key.peerKey)
      #expect(identity.user == "ann")
      #expect(identity.proof == .online)
    }

    @Test func `with the longest names and information a certificate stays within its limit`() async throws {
      let long = String(repeating: "a", count: 128)
      let authority = try PeerAuthority(application: long, validity: start..<end)
      let information: [TextKey: Value] = ["role": .string(String(repeating: "r", count: 245))]
      #expect(PeerInformation.fits(information))
      let certificate = try authority.makeIntermediate(validity: start..<end).issue(
        for: DeviceKey().peerKey, user: long, isBigPeer: true, validity: start..<end, proof: .online,
        information: information)
      for part in certificate.chain { try expect(part.bytes().count <= PeerCertificate.byteLimit) }
      let identity = try await CertificateCheck(trusted: authority.trusted, now: { Date() }).check(
        certificate.chain.map { try $0.bytes() })
      #expect(identity.information == information)
      let more: [TextKey: Value] = ["role": .string(String(repeating: "r", count: 246))]
      #expect(!PeerInformation.fits(more))
      #expect(throws: LinkError.self) {
        try authority.issue(
          for: DeviceKey().peerKey, user: nil, validity: start..<end, proof: .online, information: more)
      }
    }

    @Test func `nothing that it issues outlives it, and it does not outlive its parent`() async throws {
      let late = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded() + 600)
      let intermediate = try authority.makeIntermediate(validity: start - 86_400..<late)
      #expect(intermediate.validUntil == late)
      let certificate = try intermediate.issue(
        for: DeviceKey().peerKey, user: nil, validity: start - 86_400..<end)
      #expect(certificate.validUntil == late)
      #expect(certificate.validFrom >= start)
      #expect(try await check(certificate).validUntil == Int64(late.timeIntervalSince1970 * 1_000))
      await #expect(throws: LinkError.self) { try await check(certificate, now: late + 1) }
      let outliving = try authority.makeIntermediate(validity: start..<end + 86_400)
      #expect(outliving.validUntil <= end)
      #expect(
        message { try intermediate.issue(for: DeviceKey().peerKey, user: nil, validity: late..<late + 60) }
          .contains("not in the time for which it is to issue"))
      #expect(
        message { try authority.makeIntermediate(validity: end + 1..<end + 60) }.contains(
          "not in the time for which it is to issue"))
    }

    @Test func `it makes no further authorities, and a shared key has none`() throws {
      let intermediate = try authority.makeIntermediate(validity: start..<end)
      #expect(intermediate.isIntermediate)
      #expect(!authority.isIntermediate)
      #expect(
        message { try intermediate.makeIntermediate(validity: start..<end) }
          .contains("no further authorities"))
      let shared = try PeerAuthority(sharedKey: (0..<32).map { $0 &* 7 | 0x80 }, application: "garage")
      #expect(message { try shared.makeIntermediate(validity: start..<end) }.contains("shared key"))
    }

    // MARK: - Its text form

    private func certificates(_ pem: String) -> [String] {
      pem.components(separatedBy: "-----BEGIN CERTIFICATE-----").dropFirst().map {
        "-----BEGIN CERTIFICATE-----" + $0
      }
    }

    private func secret(_ pem: String) -> String {
      pem.components(separatedBy: "-----BEGIN CERTIFICATE-----")[0]
    }

    @Test func `it is read as it was written, and issues what is believed`() async throws {
      let made = try authority.makeIntermediate(validity: start..<end)
      let text = try made.pem
      #expect(certificates(text).count == 2)
      let read = try PeerAuthority(pem: text)
      #expect(read.isIntermediate)
      #expect(read.application == "garage")
      #expect(read.validUntil == made.validUntil)
      #expect(try read.trusted.pem == authority.trusted.pem)
      let certificate = try read.issue(for: DeviceKey().peerKey, user: "ann", validity: start..<end)
      #expect(try await check(PeerCertificate(pem: certificate.pem)).user == "ann")
    }

    @Test func `a file in which something is wrong or missing is refused, saying what`() throws {
      let text = try authority.makeIntermediate(validity: start..<end).pem
      let (key, parts) = (secret(text), certificates(text))
      let stranger = try PeerAuthority(application: "garage", validity: start..<end)
      let other = try PeerAuthority(application: "another", validity: start..<end)
      let peer = try authority.issue(for: DeviceKey().peerKey, user: nil, validity: start..<end).pem
      for (text, part) in [
        (key + parts[0], "another one has issued it"),
        (key + parts[1], "not that of its certificate"),
        (key, "has 0"),
        (parts[0] + parts[1], "has a private key"),
        (key + parts[0] + parts[0], "another one has issued it"),
        (key + parts[1] + parts[0], "another one has issued it"),
        (key + parts[0] + parts[1] + parts[1], "has 3"),
        (key + parts[0] + (try stranger.trusted.pem), "not issued by the parent"),
        (key + parts[0] + (try other.trusted.pem), "not issued by the parent"),
        (secret(try other.pem) + parts[0] + parts[1], "not that of its certificate"),
        (key + peer + parts[1], "not that of its certificate"),
      ] {
        expect(message { try PeerAuthority(pem: text) }.contains(part), "\(part)")
      }
      // Peers do not take it for the application's authority.
      #expect(message { try TrustedAuthority(pem: parts[0]) }.contains("another one has issued it"))
    }

    @Test func `a device that is told the intermediate authority as its authority believes nobody`() throws {
      let made = try authority.makeIntermediate(validity: start..<end)
      let key = DeviceKey()
      let certificate = try made.issue(for: key.peerKey, user: nil, validity: start..<end)
      let device = LoginClient.Device(application: "garage", key: key, authority: nil)
      #expect(
        message {
          try LoginGrant(
            certificate: certificate.pem, authority: certificates(try made.pem)[0], for: device,
            clock: LoginGrant.Clock(now: { Date() }))
        }.contains("another one has issued it"))
    }
  }
#endif
