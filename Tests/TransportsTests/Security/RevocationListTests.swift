#if TLS
  import CRDTCore
  import Crypto
  import Foundation
  import SwiftASN1
  import TestKit
  import Testing
  import X509

  @testable import Links

  /// The format of revocation lists, and what their entries mean.
  @Suite(.timeLimit(.minutes(15))) struct RevocationListTests {
    private let rig: RevocationRig

    init() throws { rig = try RevocationRig() }

    private func golden(_ name: String, _ type: String) throws -> [UInt8] {
      let url = try #require(
        Bundle.module.url(forResource: name, withExtension: type, subdirectory: "Golden"))
      return [UInt8](try Data(contentsOf: url))
    }

    private func failure(_ body: () throws -> Any) -> LinkError? {
      #expect(throws: LinkError.self) { _ = try body() }
    }

    // MARK: - The format

    /// Another program has written the file: not this library, but by the page about the format.
    @Test func `a list of version 1 is read, and believed by its application only`() throws {
      let file = try golden("revocations-v1", "bin")
      let root = try TrustedAuthority(
        pem: String(decoding: try golden("revocations-root-v1", "pem"), as: UTF8.self))
      let list = try RevocationList(file: file)
      #expect(list.head.number == 7 && list.head.count == 4)
      #expect(try list.head.verify(root) == false)
      #expect(list.head.issuer.description == "722e2e1991d1ebff")
      let until: Int64 = 1_900_000_000
      let generator = "036b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
      let expected = [
        try RevocationEntry(.key(PeerKey(hexadecimal: generator)), neededUntil: until),
        try RevocationEntry(
          .certificate(issuer: root.hash, serialNumber: [1, 2, 3, 4, 5, 6, 7, 8, 255]), neededUntil: until + 1
        ),
        try RevocationEntry(.user("ann", issuedBefore: 1_800_000_000), neededUntil: until + 2),
        try RevocationEntry(
          .unknown(kind: 9, content: Array("later".utf8)), neededUntil: until + 3),
      ]
      #expect(list.entries == expected)
      #expect(RevocationSegment(expected).bytes == list.segments[0].bytes)
      #expect(list.file == file)
      #expect(failure { try list.head.verify(rig.authority.trusted) }?.code == .untrusted)
    }

    @Test func `a list grows, keeps its full segments, and is read as it was written`() throws {
      var list = try rig.list([])
      #expect(list.head.number == 1 && list.head.count == 0 && list.segments.isEmpty)
      var count = 0
      for more in [1, 998, 1, 1, 1_500, 0] {
        let next = try rig.list(rig.entries(count..<count + more), after: list)
        count += more
        expectEqual(next.head.count, count)
        expectEqual(next.head.number, list.head.number + (more > 0 ? 1 : 0))
        expect(next.extends(list))
        expectEqual(
          next.segments.map(\.entries.count),
          (0..<(count + 999) / 1_000).map { min(1_000, count - $0 * 1_000) })
        expectEqual(try RevocationList(file: next.file), next)
        expect(try next.head.verify(rig.authority.trusted))
        list = next
      }
      let all = try rig.entries(0..<2_501)
      #expect(list.entries == all)
      let other = try rig.list(rig.entries(0..<10), by: rig.intermediate)
      #expect(try other.head.verify(rig.authority.trusted) == false)
    }

    @Test func `entries that have ended are left out once they are more than half`() throws {
      let old = try (0..<60).map {
        try RevocationEntry(.key(try RevocationRig.key($0)), neededUntil: rig.end - 10 * 86_400)
      }
      let (half, list) = (try rig.list(rig.entries(100..<170)), try rig.list(old))
      let next = try rig.list(rig.entries(200..<201), after: list)
      #expect(next.head.count == 1)
      let mixed = try rig.list(old, after: half)
      #expect(try rig.list(rig.entries(200..<201), after: mixed).head.count == 131)
    }

    @Test func `a file that was cut or changed anywhere is refused`() throws {
      let entries = try rig.entries(0..<3) + [rig.entry(.user("ann", issuedBefore: 5))]
      let right = try rig.list(entries, by: rig.intermediate)
      let file = right.file
      for count in 0..<file.count {
        let error = failure { try RevocationList(file: Array(file[..<count])) }
        expectEqual(error?.code, .malformed, "\(count)")
      }
      for place in file.indices {
        var wrong = file
        wrong[place] ^= 1
        do throws(LinkError) {
          let list = try RevocationList(file: wrong)
          _ = try list.head.verify(rig.authority.trusted)
          // Some bytes of a certificate are not signed, and say nothing.
          expect(list == right, "A list with byte \(place) changed is believed")
        } catch {
          expect([.malformed, .untrusted, .limit].contains(error.code), "\(error)")
        }
      }
      #expect(failure { try RevocationList(file: file + [0]) }?.message.contains("after its end") == true)
      #expect(failure { try RevocationList(file: Array("text".utf8)) }?.message.contains("no file") == true)
      let long = [UInt8](repeating: 0, count: RevocationList.fileBytes + 1)
      #expect(failure { try RevocationList(file: long) }?.code == .limit)
    }

    @Test func `wrong entries are refused`() throws {
      let issuer = rig.authority.hash
      for subject in [
        .certificate(issuer: issuer, serialNumber: []),
        .certificate(issuer: issuer, serialNumber: [UInt8](repeating: 1, count: 21)),
        .user("", issuedBefore: 1), .user(String(repeating: "a", count: 129), issuedBefore: 1),
        .user("ann", issuedBefore: -1), .user("ann", issuedBefore: RevocationEntry.latest + 1),
        .unknown(kind: 1, content: []),
      ] as [RevocationEntry.Subject] {
        expectEqual(failure { try rig.entry(subject) }?.code, .malformed, "\(subject)")
      }
      let key = RevocationEntry.Subject.key(try RevocationRig.key(1))
      for time in [-1, RevocationEntry.latest + 1] {
        expectEqual(failure { try RevocationEntry(key, neededUntil: time) }?.code, .malformed)
      }
      for bytes in [
        [1], [2, 0], [1, 0], [2, 1, 5], [35, 1, 5] + [UInt8](repeating: 2, count: 32), [0],
        [5, 3, 5, 5, 0xFF, 0xFE], [0xC2, 1] + [UInt8](repeating: 9, count: 194),
      ] as [[UInt8]] {
        #expect(throws: CodecError.self, "\(bytes)") { try RevocationSegment(bytes: bytes) }
      }
      let many = [UInt8](repeating: 0, count: 0) + (0..<1_001).flatMap { _ in [2, 9, 5] as [UInt8] }
      #expect(throws: CodecError.self) { try RevocationSegment(bytes: many) }
    }

    // MARK: - Who may issue

    @Test func `only the application's authority and those that it has certified issue lists`() throws {
      let stranger = try RevocationRig()
      let other = try RevocationRig(application: "other")
      for wrong in [stranger.authority, stranger.intermediate, other.authority, other.intermediate] {
        let list = try RevocationList.make(by: wrong, extending: nil, adding: [], now: Date())
        expectEqual(failure { try list.head.verify(rig.authority.trusted) }?.code, .untrusted)
      }
      let shared = try PeerAuthority(sharedKey: (0..<32).map { $0 &* 7 | 0x80 }, application: "test")
      #expect(
        failure { try RevocationList.make(by: shared, extending: nil, adding: [], now: Date()) }?.message
          .contains("shared key") == true)
      let own = try rig.list([])
      #expect(failure { try own.head.verify(shared.trusted) }?.message.contains("shared key") == true)
      #expect(
        failure { try rig.list([], after: own, by: rig.intermediate) }?.message.contains("is one of") == true)
    }

    /// A device shows its own certificate in place of an authority's.
    @Test func `a device issues no list`() throws {
      let key = CertificateDraft.Key.p256(P256.Signing.PrivateKey(compactRepresentable: false))
      guard case .p256(let secret) = key else { return }
      var drafts: [CertificateDraft] = []
      var device = CertificateDraft()
      device.statement = PeerExtension(proof: .certificate, application: "test", user: nil)
      drafts.append(device)
      var named = CertificateDraft.intermediate()
      named.statement = PeerExtension(proof: .certificate, application: "test", user: "ann")
      drafts.append(named)
      var deep = CertificateDraft.intermediate()
      deep.statement = PeerExtension(proof: .certificate, application: "test", user: nil)
      deep.constraints = .isCertificateAuthority(maxPathLength: 1)
      drafts.append(deep)
      var right = deep
      right.constraints = .isCertificateAuthority(maxPathLength: 0)
      drafts.append(right)
      for (place, draft) in drafts.enumerated() {
        var draft = draft
        draft.key = key
        let certificate = try draft.signed(by: .init(rig.authority.key))
        let head = try Self.head(of: certificate, signedBy: secret, application: "test")
        if place == drafts.count - 1 {
          expect(try !head.verify(rig.authority.trusted))
        } else {
          expectEqual(failure { try head.verify(rig.authority.trusted) }?.code, .untrusted, "\(place)")
        }
      }
    }

    /// A head that anybody with a certificate could make.
    private static func head(
      of certificate: Certificate, signedBy secret: P256.Signing.PrivateKey, application: String
    ) throws -> RevocationHead {
      let issuer = AuthorityHash(certificate.publicKey)
      let content: [UInt8] = [1, 0, 0]
      let statement =
        Array("dunlin revocations 1".utf8) + [0, UInt8(application.utf8.count)] + Array(application.utf8)
        + issuer.bytes + content
      var out = ByteWriter()
      out.write(1)
      out.write(issuer.bytes)
      out.writeBlob(try certificate.bytes())
      out.writeBlob(content)
      out.write(Array(try secret.signature(for: statement).rawRepresentation))
      return try RevocationHead(bytes: out.bytes)
    }

    // MARK: - What entries name

    private func check(_ credentials: PeerCredentials, _ lists: [RevocationList]) async throws -> String? {
      let revoked = RevokedKeys()
      let held = RevocationLists(revoked: revoked)
      held.trust(try rig.credentials(DeviceKey()))
      for list in lists { _ = try held.add(list) }
      var check = CertificateCheck(trusted: rig.authority.trusted, now: { Date() })
      check.revoked = revoked
      do throws(LinkError) {
        _ = try await check.check(credentials.presented)
        return nil
      } catch {
        expectEqual(error.code, .revoked)
        return error.message
      }
    }

    @Test func `keys, certificates and a user's earlier certificates are refused`() async throws {
      let (key, other) = (DeviceKey(), DeviceKey())
      let ann = try rig.credentials(key, user: "ann", by: rig.intermediate)
      let bob = try rig.credentials(other, user: "bob")
      let serial = try PeerCertificate(try ann.presented.map { try Certificate(derEncoded: $0) }).chain[0]
        .serialNumber.bytes
      let start = Int64(rig.validity.lowerBound.timeIntervalSince1970)
      for (subject, part) in [
        (.key(key.peerKey), "its key is revoked"),
        (
          .certificate(issuer: rig.intermediate.hash, serialNumber: Array(serial)),
          "its certificate is revoked"
        ),
        (.user("ann", issuedBefore: start + 1), "of its user"),
      ] as [(RevocationEntry.Subject, String)] {
        for issuer in [rig.authority, rig.intermediate] {
          let list = try rig.list([rig.entry(subject)], by: issuer)
          let why = try await check(ann, [list])
          expect(why?.contains(part) == true, "\(subject): \(why ?? "trusted")")
          let others = try await check(bob, [list])
          expect(others == nil, "\(subject)")
        }
      }
      for subject in [
        .key(other.peerKey), .certificate(issuer: rig.authority.hash, serialNumber: Array(serial)),
        .user("ann", issuedBefore: start), .user("anna", issuedBefore: start + 1),
        .unknown(kind: 77, content: key.peerKey.bytes),
      ] as [RevocationEntry.Subject] {
        let why = try await check(ann, [rig.list([rig.entry(subject)])])
        expect(why == nil, "\(subject): \(why ?? "")")
      }
      // What is over has no effect.
      let ended = try RevocationEntry(.key(key.peerKey), neededUntil: start)
      #expect(try await check(ann, [rig.list([ended])]) == nil)
    }

    @Test func `only the application's authority revokes an intermediate one`() async throws {
      let ann = try rig.credentials(DeviceKey(), by: rig.intermediate)
      let certificate = try #require(rig.intermediate.intermediate)
      let issuerKey = try #require(P256.Signing.PublicKey(certificate.publicKey).map { PeerKey($0) })
      for subject in [
        .certificate(issuer: rig.authority.hash, serialNumber: Array(certificate.serialNumber.bytes)),
        .key(issuerKey),
      ] as [RevocationEntry.Subject] {
        let why = try await check(ann, [rig.list([rig.entry(subject)])])
        expect(why?.contains("intermediate authority") == true, "\(subject)")
        let byItself = try await check(ann, [rig.list([rig.entry(subject)], by: rig.intermediate)])
        expect(byItself == nil, "\(subject)")
      }
    }

    // MARK: - Several lists

    @Test func `lists add up, an older one changes nothing, and of two with one number both hold`() throws {
      let lists = try rig.lists()
      let first = try rig.list(rig.entries(0..<10))
      let (second, fork) = (
        try rig.list(rig.entries(10..<20), after: first), try rig.list(rig.entries(20..<30), after: first)
      )
      #expect(try lists.add(second).changed.count == 1)
      #expect(try lists.add(first).changed.isEmpty)
      #expect(try lists.add(second).changed.isEmpty)
      _ = try lists.add(rig.list(rig.entries(40..<50), by: rig.intermediate))
      _ = try lists.add(fork)
      for number in [0, 9, 15, 25, 45] { expect(lists.contains(try RevocationRig.key(number)), "\(number)") }
      #expect(!lists.contains(try RevocationRig.key(30)))
      // At a peer that has got them in another order it comes to the same.
      let again = try rig.lists()
      for list in [fork, second] { _ = try again.add(list) }
      #expect(again.held(rig.authority.hash)?.list == lists.held(rig.authority.hash)?.list)
      for number in [0, 15, 25] { expect(again.contains(try RevocationRig.key(number)), "\(number)") }
      // A later list without some of them takes nothing back.
      let third = try rig.list(rig.entries(50..<51), after: second)
      _ = try lists.add(third)
      for number in [0, 15, 25, 50] { expect(lists.contains(try RevocationRig.key(number)), "\(number)") }
      #expect(lists.held(rig.authority.hash)?.list == third)
      #expect(lists.held(rig.authority.hash)?.kept.count == 10)
      let status = lists.status
      #expect(status.lists.map(\.isByRoot).sorted { $0 && !$1 } == [true, false])
      #expect(status.refused.isEmpty)
    }

    @Test func `a list beyond the limit is refused, and leaves room for the authority itself`() throws {
      let lists = try rig.lists()
      let half = try rig.list(rig.entries(0..<50_000), by: rig.intermediate)
      _ = try lists.add(half)
      let more = try rig.list(rig.entries(50_000..<50_001), after: half, by: rig.intermediate)
      #expect(failure { try lists.add(more) }?.code == .limit)
      _ = try lists.add(rig.list(rig.entries(50_000..<100_000)))
      #expect(lists.contains(try RevocationRig.key(99_999)))
      let second = try rig.authority.makeIntermediate(validity: rig.validity)
      #expect(failure { try lists.add(rig.list(rig.entries(0..<1), by: second)) }?.code == .limit)
      #expect(failure { try rig.list(rig.entries(0..<100_001)) }?.code == .limit)
      #expect(RevocationLists.entryLimit == RevocationHead.entryLimit)
      #expect(RevocationLists.intermediateEntryLimit == RevocationLists.entryLimit / 2)
    }

    @Test func `with a shared key and without credentials, lists have no effect`() throws {
      let revoked = RevokedKeys()
      let lists = RevocationLists(revoked: revoked)
      let list = try rig.list(rig.entries(0..<1))
      #expect(failure { try lists.add(list) }?.code == .credentials)
      lists.load([HeldRevocations(list: list)])
      #expect(!lists.contains(try RevocationRig.key(0)) && lists.heads == nil)
      let secret = (0..<32).map { UInt8($0) &* 11 | 0x81 }
      lists.trust(try PeerCredentials(sharedKey: secret, application: "test", key: DeviceKey()))
      #expect(!lists.contains(try RevocationRig.key(0)) && lists.heads == nil && !lists.isActive)
      lists.trust(try rig.credentials(DeviceKey()))
      #expect(lists.contains(try RevocationRig.key(0)) && lists.heads != nil && lists.isActive)
      lists.trust(try RevocationRig().credentials(DeviceKey()))
      #expect(!lists.contains(try RevocationRig.key(0)) && lists.heads == nil)
    }
  }
#endif
