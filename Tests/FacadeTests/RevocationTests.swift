#if TLS
  import CRDTCore
  import DocStore
  import DunlinKit
  import Foundation
  import Links
  import Logging
  import Synchronization
  import TestKit
  import Testing

  @testable import Facade

  /// Revocation lists of databases: what is stored, what is refused, and what a user sees.
  @Suite(.timeLimit(.minutes(15))) struct RevocationTests {
    private let directory: TemporaryDirectory
    private let authority: DunlinAuthority
    private let validity: Range<Date>

    init() throws {
      directory = try TemporaryDirectory()
      let now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())
      validity = now - 3_600..<now + 86_400
      authority = try DunlinAuthority(appID: "tests", validity: validity)
    }

    private func key(_ name: String) throws -> String {
      try DunlinDevice.publicKey(path: directory.file(name))
    }

    private func identity(_ name: String, by issuer: DunlinAuthority? = nil) throws -> DunlinIdentity {
      .certificate(
        appID: "tests", authority: try authority.certificate,
        certificate: try (issuer ?? authority).issue(
          deviceKey: key(name), user: name, validity: validity))
    }

    private func open(_ name: String, log: RecordedLog = RecordedLog()) throws -> Dunlin {
      try Dunlin(
        path: directory.file(name), identity: identity(name),
        configuration: DunlinConfiguration(
          peerName: name, logger: log.logger, failureHandler: { log.failed($0) }))
    }

    private func connect(_ one: Dunlin, to other: Dunlin) throws {
      if other.listeningPorts.isEmpty { try other.listen() }
      try other.startSync()
      one.connect(host: "127.0.0.1", port: try #require(other.listeningPorts.first))
      try one.startSync()
    }

    private func failure(_ body: () async throws -> Any) async -> DunlinError? {
      await #expect(throws: DunlinError.self) { _ = try await body() }
    }

    @Test func `a list ends a session, spreads, and is in effect after a restart and in a backup`()
      async throws
    {
      let (hub, ann, bob) = (try open("hub"), try open("ann"), try open("bob"))
      try connect(ann, to: hub)
      try connect(bob, to: hub)
      for await graph in hub.presence.graphs where graph.remotePeers.count == 2 { break }
      let list = try authority.revoke([.deviceKey(key("ann"))])
      #expect(try await bob.addRevocations(list))
      #expect(try await bob.addRevocations(list) == false)
      for await graph in hub.presence.graphs where graph.remotePeers.map(\.user) == ["bob"] { break }
      let held = try #require(hub.revocations.lists.first)
      #expect(held.number == 1 && held.entryCount == 1 && !held.isIntermediate)
      #expect(held.issuer.count == 16)
      #expect(hub.revocations.refusals.isEmpty)
      // A later write is made after the list is stored.
      try await hub.collection("things").upsert(["_id": "a"])
      try await hub.store.backup(to: directory.file("backup"))
      for dunlin in [hub, ann, bob] { try dunlin.close() }
      let again = try open("hub")
      #expect(again.revocations.lists == [held])
      try again.close()
      try FileManager.default.copyItem(
        atPath: directory.file("hub/device.key"), toPath: directory.file("backup/device.key"))
      let restored = try Dunlin(path: directory.file("backup"), identity: identity("hub"))
      #expect(restored.revocations.lists == [held])
      try restored.close()
    }

    @Test func `each kind of revocation names what it says`() async throws {
      let intermediate = try authority.makeIntermediate(validity: validity)
      let certificate = try intermediate.issue(deviceKey: key("ann"), user: "ann", validity: validity)
      let serial = try PeerCertificate(pem: certificate).serialNumber
      let list = try intermediate.revoke([
        .deviceKey(key("bob"), until: validity.upperBound), .certificate(certificate),
        .serialNumber(serial, until: validity.lowerBound), .user("ann", issuedBefore: Date()),
      ])
      let read = try RevocationList(file: list)
      #expect(read.head.count == 4)
      let end = Int64(validity.upperBound.timeIntervalSince1970)
      #expect(read.entries.map(\.neededUntil) == [end, end, end - 90_000, end])
      #expect(read.entries[1].subject == read.entries[2].subject)
      let hub = try open("hub")
      #expect(try await hub.addRevocations(list))
      #expect(hub.revocations.lists.map(\.isIntermediate) == [true])
      let longer = try intermediate.revoke([.deviceKey(key("cid"))], extending: list)
      #expect(try await hub.addRevocations(longer))
      #expect(hub.revocations.lists.map(\.entryCount) == [5])
      #expect(try intermediate.revoke([.deviceKey(key("cid"))], extending: longer) == longer)
      try hub.close()
    }

    @Test func `wrong lists and wrong revocations are refused, and say what is wrong`() async throws {
      let hub = try open("hub")
      let other = try DunlinAuthority(appID: "tests", validity: validity)
      let list = try authority.revoke([])
      for (bytes, code, part) in [
        ([], "malformed", "no file with a revocation list"),
        (Array(list.dropLast()), "malformed", "cannot be read"),
        (try other.revoke([]), "identity", "another authority"),
      ] as [([UInt8], String, String)] {
        let error = await failure { try await hub.addRevocations(bytes) }
        expectEqual(error?.code.rawValue, code)
        expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
      }
      #expect(hub.revocations.lists.isEmpty)
      for (revocation, code) in [
        (.deviceKey("12"), "identity"), (.certificate("text"), "identity"), (.serialNumber(""), "identity"),
        (.serialNumber("xy"), "identity"), (.user("", issuedBefore: Date()), "malformed"),
        (.user("ann", issuedBefore: Date(timeIntervalSinceNow: 60)), "identity"),
      ] as [(DunlinRevocation, String)] {
        let error = await failure { try authority.revoke([revocation]) }
        expectEqual(error?.code.rawValue, code, "\(revocation)")
      }
      let error = await failure { try authority.revoke([], extending: other.revoke([])) }
      #expect(error?.code == .identity)
      try hub.close()
      #expect(await failure { try await hub.addRevocations(list) }?.code == .closed)
      let plain = try Dunlin(
        path: directory.file("plain"), identity: .unsafeDevelopment(appID: "tests"),
        configuration: DunlinConfiguration(logger: RecordedLog().logger))
      #expect(await failure { try await plain.addRevocations(list) }?.code == .argument)
      try plain.close()
      let shared = try Dunlin(
        path: directory.file("shared"), identity: .sharedKey(appID: "tests", key: DunlinSharedKey()))
      #expect(await failure { try await shared.addRevocations(list) }?.code == .identity)
      try shared.close()
    }

    @Test func `a device that hears of no list for too long holds sync until a peer confirms its lists`()
      async throws
    {
      let start = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())
      let validity = start - 86_400..<start + 30 * 86_400
      let authority = try DunlinAuthority(appID: "tests", validity: validity)
      func identity(_ name: String) throws -> DunlinIdentity {
        .certificate(
          appID: "tests", authority: try authority.certificate,
          certificate: try authority.issue(deviceKey: key(name), user: name, validity: validity))
      }
      let hub = try Dunlin(path: directory.file("hub"), identity: identity("hub"))
      try await hub.addRevocations(authority.revoke([]))
      let later = Mutex(TimeInterval(0))
      let log = RecordedLog()
      var configuration = DunlinConfiguration(logger: log.logger, failureHandler: { log.failed($0) })
      configuration.clock = { start + later.withLock { $0 } }
      configuration.revocationsNeededWithin = .seconds(86_400)
      let device = try Dunlin(
        path: directory.file("device"), identity: identity("device"), configuration: configuration)
      let subscription = try device.sync.registerSubscription(query: "SELECT * FROM things")
      let freshness = try #require(device.core.sync.identity?.revocations.freshness)
      #expect(!device.revocations.isOutdated)
      // The time is looked at twice, because a single period counts a day at most.
      for _ in 0..<2 {
        later.withLock { $0 += 20 * 3_600 }
        freshness.check()
        try await device.collection("own").upsert(["_id": "a"])
      }
      while !device.revocations.isOutdated { try await Task.sleep(for: .milliseconds(2)) }
      #expect(log.codes == [.identity])
      #expect(log.lines(with: "no document is sent or taken", from: .error).count == 1)
      // It meets a peer, hears of the list, and goes on.
      try await hub.collection("things").upsert(["_id": "t"])
      try connect(device, to: hub)
      for await diff in try device.store.changes(of: "SELECT * FROM things") where !diff.items.isEmpty {
        break
      }
      #expect(!device.revocations.isOutdated)
      #expect(device.revocations.lists.map(\.number) == [1])
      subscription.cancel()
      try device.close()
      // It is also counted over a restart, and an equal head is enough.
      later.withLock { $0 += 20 * 3_600 }
      let again = try Dunlin(
        path: directory.file("device"), identity: identity("device"), configuration: configuration)
      #expect(!again.revocations.isOutdated)
      later.withLock { $0 += 20 * 3_600 }
      try #require(again.core.sync.identity?.revocations.freshness).check()
      while !again.revocations.isOutdated { try await Task.sleep(for: .milliseconds(2)) }
      try connect(again, to: hub)
      while again.revocations.isOutdated { try await Task.sleep(for: .milliseconds(2)) }
      for dunlin in [hub, again] { try dunlin.close() }
    }

    @Test func `a time without certificates, and none, are refused`() async throws {
      for (identity, time) in [
        (.unsafeDevelopment(appID: "tests"), 60), (.sharedKey(appID: "tests", key: DunlinSharedKey()), 60),
        (try identity("hub"), 0),
      ] as [(DunlinIdentity, Int)] {
        var configuration = DunlinConfiguration(logger: RecordedLog().logger)
        configuration.revocationsNeededWithin = .seconds(time)
        let error = await failure {
          try Dunlin(
            path: directory.file("wrong"), identity: identity, configuration: configuration)
        }
        expectEqual(error?.code, .argument)
      }
    }

    @Test func `a damaged list prevents sync until it is added again, and not access to the data`()
      async throws
    {
      let list = try authority.revoke((0..<3).map { .deviceKey(try key("device \($0)")) })
      let hub = try open("hub")
      try await hub.addRevocations(list)
      try await hub.collection("things").upsert(["_id": "a"])
      try hub.close()
      let store = try Store.open(at: directory.file("hub"))
      _ = try await store.write { transaction in
        var key: [UInt8] = []
        try transaction.forEachSideKey(RevocationKeeper.table) { found, _ in
          if found[32] == 1 { key = found }
          return true
        }
        try transaction.setSideValue([1, 2, 3], RevocationKeeper.table, key: key)
      }
      store.close()
      let log = RecordedLog()
      let again = try open("hub", log: log)
      #expect(log.codes == [.corrupt])
      #expect(try again.collection("things").findByID("a").exec() != nil)
      let error = #expect(throws: DunlinError.self) { try again.startSync() }
      #expect(error?.code == .corrupt)
      #expect(error?.message.contains("add the list again") == true)
      #expect(try await again.addRevocations(list))
      try again.startSync()
      try again.close()
    }
  }
#endif
