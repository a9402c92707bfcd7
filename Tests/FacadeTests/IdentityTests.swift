#if TLS
  import CRDTCore
  import DocStore
  import DunlinKit
  import Foundation
  import Synchronization
  import TestKit
  import Testing

  @Suite(.timeLimit(.minutes(15))) struct IdentityTests {
    private let directory: TemporaryDirectory
    private let key = DunlinSharedKey()

    init() throws { directory = try TemporaryDirectory() }

    private func open(
      _ name: String, _ identity: DunlinIdentity? = nil, kind: DunlinPeerKind = .small,
      keyStore: (any DunlinKeyStore)? = nil, log: RecordedLog = RecordedLog()
    ) throws -> Dunlin {
      var configuration = DunlinConfiguration(
        peerKind: kind, peerName: name, logger: log.logger, failureHandler: { log.failed($0) })
      configuration.keyStore = keyStore
      return try Dunlin(
        path: directory.file(name), identity: identity ?? .sharedKey(appID: "tests", key: key),
        configuration: configuration)
    }

    private func connect(_ one: Dunlin, to other: Dunlin) throws {
      try other.listen()
      try other.startSync()
      one.connect(host: "127.0.0.1", port: try #require(other.listeningPorts.first))
      try one.startSync()
    }

    private func mode(_ path: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `peers with the shared key sync`() async throws {
      let (log, identityText) = (RecordedLog(), key.text)
      let (tablet, phone) = (
        try open("tablet", log: log),
        try open("phone", .sharedKey(appID: "tests", key: try DunlinSharedKey(identityText)))
      )
      let subscription = try phone.sync.registerSubscription(query: "SELECT * FROM cars")
      try await tablet.collection("cars").upsert(["_id": "a", "color": "red"])
      try connect(phone, to: tablet)
      for await diff in try phone.store.changes(of: "SELECT * FROM cars") where !diff.items.isEmpty { break }
      // Nothing is said of development.
      #expect(log.lines(with: "unsafe").isEmpty)
      subscription.cancel()
      for dunlin in [tablet, phone] { try dunlin.close() }
    }

    @Test func `peers with certificates sync`() async throws {
      let validity = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600)
      let authority = try DunlinAuthority(appID: "tests", validity: validity)
      let again = try DunlinAuthority(text: try authority.text)
      func certified(_ name: String) throws -> DunlinIdentity {
        let deviceKey = try DunlinDevice.publicKey(path: directory.file(name))
        return .certificate(
          appID: "tests", authority: try authority.certificate,
          certificate: try again.issue(deviceKey: deviceKey, user: name, validity: validity))
      }
      let (ann, bob) = (try open("ann", certified("ann")), try open("bob", certified("bob")))
      let subscription = try bob.sync.registerSubscription(query: "SELECT * FROM cars")
      try await ann.collection("cars").upsert(["_id": "a"])
      try connect(bob, to: ann)
      for await diff in try bob.store.changes(of: "SELECT * FROM cars") where !diff.items.isEmpty { break }
      #expect(bob.presence.graph.remotePeers.map(\.user) == ["ann"])
      #expect(
        ann.presence.graph.remotePeers.map(\.peerKey) == [
          try DunlinDevice.publicKey(path: directory.file("bob"))
        ])
      subscription.cancel()
      for dunlin in [ann, bob] { try dunlin.close() }
    }

    @Test func `the device's key is made once, and only its owner can read it`() throws {
      let file = directory.file("tablet/device.key")
      let made = try DunlinDevice.publicKey(path: directory.file("tablet"))
      #expect(made.count == 66)
      try open("tablet").close()
      #expect(try DunlinDevice.publicKey(path: directory.file("tablet")) == made)
      #expect(try mode(file) == 0o600)
      #expect(try Data(contentsOf: URL(filePath: file)).count == 32)
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
      let error = #expect(throws: DunlinError.self) { try open("tablet") }
      #expect(error?.code == .permission)
      #expect(error?.message.contains("chmod 600") == true)
    }

    @Test func `a site stays over a restart, and is another one with another key`() throws {
      func site() throws -> String {
        let dunlin = try open("tablet")
        try dunlin.close()
        let store = try Store.open(at: directory.file("tablet"))
        defer { store.close() }
        return store.site.description
      }
      let first = try site()
      #expect(try site() == first)
      try FileManager.default.removeItem(atPath: directory.file("tablet/device.key"))
      let second = try site()
      #expect(second != first)
      #expect(try site() == second)
    }

    @Test func `a copy of a database takes a key of its own`() throws {
      try open("tablet").close()
      try FileManager.default.copyItem(atPath: directory.file("tablet"), toPath: directory.file("copy"))
      let (before, copied) = (
        try DunlinDevice.publicKey(path: directory.file("tablet")),
        try DunlinDevice.publicKey(path: directory.file("copy"))
      )
      #expect(before == copied)
      try open("copy").close()
      #expect(try DunlinDevice.publicKey(path: directory.file("copy")) != before)
      try open("tablet").close()
      #expect(try DunlinDevice.publicKey(path: directory.file("tablet")) == before)
    }

    @Test func `backups and compacted databases have no key`() async throws {
      let dunlin = try open("tablet")
      try await dunlin.collection("cars").upsert(["_id": "a"])
      let secret = try Data(contentsOf: URL(filePath: directory.file("tablet/device.key")))
      try await dunlin.store.backup(to: directory.file("backup"))
      try await dunlin.store.compact()
      try dunlin.close()
      for folder in ["backup", "tablet"] {
        let files = try FileManager.default.subpathsOfDirectory(atPath: directory.file(folder))
        for file in files where !file.hasSuffix("device.key") {
          let data = try Data(contentsOf: URL(filePath: directory.file(folder) + "/" + file))
          expect(data.range(of: secret) == nil, "\(folder)/\(file)")
        }
      }
      #expect(!FileManager.default.fileExists(atPath: directory.file("backup/device.key")))
    }

    @Test func `a key store of the application's is used in place of the file`() throws {
      let keys = HeldKeys()
      try open("tablet", keyStore: keys).close()
      #expect(!FileManager.default.fileExists(atPath: directory.file("tablet/device.key")))
      let first = keys.key.withLock { $0 }
      #expect(first?.count == 32)
      try open("tablet", keyStore: keys).close()
      #expect(keys.key.withLock { $0 } == first)
    }

    @Test func `a certificate that is not right keeps a peer from syncing and not from its data`() throws {
      let validity = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600)
      let authority = try DunlinAuthority(appID: "tests", validity: validity)
      let other = try DunlinDevice.publicKey(path: directory.file("other"))
      let own = try DunlinDevice.publicKey(path: directory.file("tablet"))
      let ended = Date(timeIntervalSinceNow: -600)..<Date(timeIntervalSinceNow: -300)
      let wrong: [(certificate: String, part: String)] = [
        (try authority.issue(deviceKey: other, validity: validity), "another key"),
        (try authority.issue(deviceKey: own, validity: ended), "was valid until"),
        ("no certificate", "cannot be read"),
        (
          try DunlinAuthority(appID: "others", validity: validity).issue(deviceKey: own, validity: validity),
          "different applications"
        ),
      ]
      for (certificate, part) in wrong {
        let log = RecordedLog()
        let dunlin = try open(
          "tablet",
          .certificate(appID: "tests", authority: try authority.certificate, certificate: certificate),
          log: log)
        try dunlin.collection("cars").upsert(["_id": "a"])
        let error = #expect(throws: DunlinError.self) { try dunlin.startSync() }
        expectEqual(error?.code, .identity)
        expectEqual(error?.message.contains(part), true, "\(String(describing: error))")
        expectEqual(log.codes, [.identity])
        try dunlin.close()
      }
    }

    @Test(arguments: [DunlinPeerKind.big, .small])
    func `a certificate of another kind of peer than the configured one keeps it from syncing`(
      kind: DunlinPeerKind
    ) async throws {
      let validity = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600)
      let authority = try DunlinAuthority(appID: "tests", validity: validity)
      let key = try DunlinDevice.publicKey(path: directory.file("peer"))
      func certified(_ kind: DunlinPeerKind) throws -> DunlinIdentity {
        let certificate = try authority.issue(deviceKey: key, kind: kind, validity: validity)
        #expect(try DunlinCertificate(text: certificate).kind == kind)
        return .certificate(
          appID: "tests", authority: try authority.certificate, certificate: certificate)
      }
      let (right, wrong) = (try certified(kind), try certified(kind == .big ? .small : .big))
      let log = RecordedLog()
      let dunlin = try open("peer", wrong, kind: kind, log: log)
      try await dunlin.collection("cars").upsert(["_id": "a"])
      let error = #expect(throws: DunlinError.self) { try dunlin.startSync() }
      #expect(error?.code == .identity)
      #expect(error?.message.contains("--kind \(kind)") == true, "\(String(describing: error))")
      #expect(log.codes == [.identity])
      try await dunlin.updateIdentity(right)
      try dunlin.startSync()
      let refused = await #expect(throws: DunlinError.self) { try await dunlin.updateIdentity(wrong) }
      #expect(refused?.code == .identity && dunlin.isSyncActive)
      try dunlin.close()
    }

    @Test(arguments: ["", "password", "bm90IDMyIGJ5dGVz"])
    func `a shared key that is none is refused`(text: String) {
      let error = #expect(throws: DunlinError.self) { try DunlinSharedKey(text) }
      #expect(error?.code == .argument)
      #expect(error?.message.contains("32 random bytes") == true)
    }

    @Test func `a password of 32 letters is no shared key`() throws {
      let text = Data("correct horse battery staple now".utf8).base64EncodedString()
      let dunlin = try open("tablet", .sharedKey(appID: "tests", key: try DunlinSharedKey(text)))
      let error = #expect(throws: DunlinError.self) { try dunlin.startSync() }
      #expect(error?.code == .identity)
      try dunlin.close()
    }

    @Test func `a shared key says nothing of itself`() {
      #expect(!"\(key)".contains(key.text))
      #expect("\(DunlinIdentity.sharedKey(appID: "tests", key: key))".contains(key.text) == false)
    }
  }

  /// Keeps a key in memory.
  private final class HeldKeys: DunlinKeyStore {
    let key = Mutex<[UInt8]?>(nil)

    func loadKey() -> [UInt8]? { key.withLock { $0 } }
    func saveKey(_ key: [UInt8]) { self.key.withLock { $0 = key } }
  }
#endif
