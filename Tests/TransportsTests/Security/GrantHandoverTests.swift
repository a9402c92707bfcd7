#if TLS
  import CRDTCore
  import DocStore
  import Foundation
  import NIOConcurrencyHelpers
  import SyncProtocol
  import TestKit
  import Testing

  @testable import Links
  @testable import Transports

  /// Certificates with a grant: its texts beside them, on the wire, and what peers do with them.
  @Suite(.timeLimit(.minutes(15))) struct GrantHandoverTests {
    private static let validity = Date(timeIntervalSinceNow: -100)..<Date(timeIntervalSinceNow: 1_000)
    private let authority: PeerAuthority

    init() throws { authority = try PeerAuthority(application: "test", validity: Self.validity) }

    /// A grant whose rules say which collections may be read, in a form that only these tests know.
    private static func grant(_ name: String, reading collections: [String]) throws -> GrantTexts {
      let rules = Array(collections.joined(separator: ",").utf8)
      let text = #"{"name":"\#(name)","rules":{"sha256":"\#(TextDigest.sha256(of: rules))"}}"#
      return try GrantTexts(checking: Array(text.utf8), rules: rules)
    }

    // MARK: - Texts

    @Test func `the texts stand beside the certificate, and only its own`() throws {
      let grant = try Self.grant("a", reading: ["open"])
      let key = DeviceKey().peerKey
      func issue(_ grant: GrantTexts?) throws -> PeerCertificate {
        try authority.issue(
          for: key, user: "ann", validity: Self.validity, proof: .certificate, grant: grant)
      }
      let certificate = try issue(grant)
      let pem = try certificate.pem
      let read = try PeerCertificate(pem: pem)
      #expect(read.grant == grant && read.grantHash == grant.hash && read.isRestricted)
      #expect(try PeerCertificate(pem: issue(nil).pem).grant == nil)
      let plain = try issue(nil).pem
      let block = try #require(pem.range(of: "-----BEGIN DUNLIN GRANT"))
      let blocks = String(pem[block.lowerBound...])
      let rules = String(blocks[try #require(blocks.range(of: "-----BEGIN DUNLIN RULES")).lowerBound...])
      let bare = String(pem[..<block.lowerBound])
      let other = try issue(Self.grant("b", reading: [])).pem.suffix(blocks: true)
      let wrong: [(String, String)] = [
        (bare, "text is missing"), (plain + blocks, "has none"), (plain + rules, "no grant that refers"),
        (bare + blocks + blocks, "two blocks"),
        (bare + other, "another one"),
      ]
      for (pem, words) in wrong {
        let error = try #require(throws: LinkError.self) { try PeerCertificate(pem: pem) }
        expect(error.code == .credentials && error.message.contains(words), "\(error) for \(words)")
      }
    }

    @Test func `texts that do not belong together are refused`() throws {
      let rules = Array("r".utf8)
      let digits = TextDigest.sha256(of: rules)
      let long = [UInt8](repeating: 0x20, count: GrantTexts.grantByteLimit + 1)
      let longRules = [UInt8](repeating: 0x20, count: GrantTexts.rulesByteLimit + 1)
      let wrong: [(String, [UInt8], String)] = [
        ("[]", [], "a JSON object"), ("{", [], "cannot be read"), ("{}", rules, "refers to no rules"),
        (#"{"rules":7}"#, rules, "is an object"), (#"{"rules":{}}"#, rules, "64 hexadecimal digits"),
        (#"{"rules":{"sha256":"\#(digits)"}}"#, Array("s".utf8), "other ones"),
        (String(decoding: long, as: UTF8.self), [], "at most"), ("{}", longRules, "at most"),
      ]
      for (grant, rules, words) in wrong {
        let error = try #require(throws: LinkError.self) {
          try GrantTexts(checking: Array(grant.utf8), rules: rules)
        }
        expect(error.code == .credentials && error.message.contains(words), "\(error) for \(words)")
      }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `the texts arrive in any pieces, and other ones are refused`(seed: UInt64) throws {
      var random = SeededGenerator(seed: seed)
      let grant = try Self.grant("a", reading: (0..<random.int(below: 50)).map { "c\($0)" })
      let wire = grant.wire + [7, 8]
      let lengths = [grant.grant.count, grant.rules.count].flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
      #expect(Array(wire.prefix(4)) == lengths)
      var (received, sent): (ArraySlice<UInt8>, Int) = ([], 0)
      var read: GrantTexts?
      while read == nil {
        let count = min(1 + random.int(below: 9), wire.count - sent)
        received += wire[sent..<sent + count]
        sent += count
        read = try GrantTexts.read(&received, hash: grant.hash)
      }
      #expect(read == grant)
      #expect(Array(received) + Array(wire[sent...]) == [7, 8])
      var other = wire[...]
      let hash = try Self.grant("b", reading: []).hash
      #expect(throws: LinkError.self) { try GrantTexts.read(&other, hash: hash) }
      var tooLong: ArraySlice<UInt8> = [0xFF, 0xFF, 0, 0]
      #expect(throws: LinkError.self) { try GrantTexts.read(&tooLong, hash: hash) }
    }

    @Test func `grants are kept within their limits, and those that were used least go`() throws {
      let book = GrantBook()
      func grant(_ number: Int, bytes: Int) throws -> GrantTexts {
        try GrantTexts(
          checking: Array(#"{"n":\#(number),"x":"\#(String(repeating: "x", count: bytes))"}"#.utf8), rules: []
        )
      }
      for number in 0..<300 {
        let texts = try grant(number, bytes: 8)
        book.keep(texts, of: texts.hash)
        _ = book.texts(of: try grant(0, bytes: 8).hash)
      }
      #expect(book.size.count == GrantBook.countLimit)
      #expect(book.texts(of: try grant(0, bytes: 8).hash) != nil)
      #expect(book.texts(of: try grant(1, bytes: 8).hash) == nil)
      for number in 0..<256 {
        let texts = try grant(number, bytes: 5_000)
        book.keep(texts, of: texts.hash)
      }
      #expect(book.size.byteCount <= GrantBook.byteLimit && book.size.count < 256)
    }

    // MARK: - Sessions

    private func peer(
      _ name: String, grant: GrantTexts?, isBigPeer: Bool = false,
      access: (@Sendable (GrantTexts, PeerIdentity) throws(GrantRefusal) -> PeerAccess)? = Self.access
    ) throws -> TestPeer {
      let key = DeviceKey()
      var options = StoreOptions()
      options.siteOfSalt = { (salt, _) throws(StoreError) in key.peerKey.site(salt: salt) }
      let peer = try TestPeer(name, kind: isBigPeer ? .big : .small, storeOptions: options) {
        $0.requiresProof = true
        $0.access = access
      }
      let certificate = try authority.issue(
        for: key.peerKey, user: nil, isBigPeer: isBigPeer, validity: Self.validity, proof: .certificate,
        grant: grant)
      peer.network.prove(
        with: try PeerCredentials(key: key, certificate: certificate, trusted: authority.trusted))
      return peer
    }

    private static let access: @Sendable (GrantTexts, PeerIdentity) throws(GrantRefusal) -> PeerAccess = {
      (grant, _) throws(GrantRefusal) in
      let names = String(decoding: grant.rules, as: UTF8.self).split(separator: ",").map {
        TextKey(String($0))
      }
      return PeerAccess(
        reading: .collections(Dictionary(uniqueKeysWithValues: names.map { ($0, .all) })),
        runsStatements: false, hearsPresence: false)
    }

    private func connect(_ dialing: TestPeer, _ listening: TestPeer) throws {
      for peer in [dialing, listening] {
        peer.network.subscribe(to: try everything("open") + everything("secret"))
      }
      try listening.network.start()
      let port = try #require(try listening.network.listen())
      dialing.network.connect(host: "127.0.0.1", port: port)
      try dialing.network.start()
    }

    @Test(arguments: [true, false], [true, false])
    func `a peer gets what its grant lets it read, whoever dials, and may bring what it likes`(
      dials: Bool, bothHaveGrants: Bool
    ) async throws {
      let cloud = try peer(
        "cloud", grant: bothHaveGrants ? Self.grant("cloud", reading: ["open", "secret"]) : nil,
        isBigPeer: true)
      let device = try peer("device", grant: Self.grant("device", reading: ["open"]))
      try await cloud.fill("open", 0..<10)
      try await cloud.fill("secret", 0..<10)
      try await device.fill("secret", 20..<25)
      if dials { try connect(device, cloud) } else { try connect(cloud, device) }
      try await device.wait { try device.documents("open").count == 10 }
      try await cloud.wait { try cloud.documents("secret").count == 15 }
      try await cloud.fill("secret", 10..<12)
      try await cloud.fill("open", 10..<12)
      try await device.wait { try device.documents("open").count == 12 }
      #expect(try device.documents("secret").count == 5)
      await device.end()
      await cloud.end()
    }

    @Test func `a peer that enforces no grants admits no peer with one, and says so`() async throws {
      let cloud = try peer("cloud", grant: nil, isBigPeer: true, access: nil)
      let device = try peer("device", grant: Self.grant("device", reading: ["open"]))
      try await cloud.fill("open", 0..<10)
      let seen = device.network.events()
      try connect(device, cloud)
      for await event in seen {
        guard case .disconnected(_, .session(let error)) = event else { continue }
        expect(error.code == .denied && error.message.contains("enforces no grants"), "\(error)")
        break
      }
      #expect(try device.documents("open").isEmpty)
      await device.end()
      await cloud.end()
    }

    @Test func `a grant that was met before is not sent again`() async throws {
      let cloud = try peer("cloud", grant: nil, isBigPeer: true)
      let device = try peer(
        "device", grant: Self.grant("device", reading: ["open"] + (0..<500).map { "c\($0)" }))
      try await cloud.fill("open", 0..<3)
      try connect(device, cloud)
      try await device.wait { try device.documents("open").count == 3 }
      #expect(cloud.network.grants.size.count == 1)
      await device.network.stop()
      let before = cloud.network.grants.size
      try device.network.start()
      try await cloud.fill("open", 3..<5)
      try await device.wait { try device.documents("open").count == 5 }
      let received = cloud.network.connections.map(\.statistics.bytesReceived).max() ?? 0
      #expect(received > 0 && received < 2_000, "\(received) bytes of session")
      #expect(cloud.network.grants.size == before)
      await device.end()
      await cloud.end()
    }

    @Test func `credentials with another grant renew nothing`() throws {
      let key = DeviceKey()
      func credentials(_ grant: GrantTexts?) throws -> PeerCredentials {
        let certificate = try authority.issue(
          for: key.peerKey, user: nil, validity: Self.validity, proof: .certificate, grant: grant)
        return try PeerCredentials(key: key, certificate: certificate, trusted: authority.trusted)
      }
      let (one, other) = (try Self.grant("a", reading: []), try Self.grant("b", reading: []))
      #expect(try credentials(one).isRenewal(of: credentials(one)))
      #expect(try !credentials(other).isRenewal(of: credentials(one)))
      #expect(try !credentials(nil).isRenewal(of: credentials(one)))
    }
  }

  extension String {
    /// The blocks behind the certificates.
    fileprivate func suffix(blocks: Bool) -> String {
      range(of: "-----BEGIN DUNLIN GRANT").map { String(self[$0.lowerBound...]) } ?? ""
    }
  }
#endif
