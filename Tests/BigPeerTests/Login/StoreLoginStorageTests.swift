#if Server
  import BigPeer
  import Facade
  import Foundation
  import Links
  import TestKit
  import Testing

  /// The tables of logins in a store.
  @Suite(.timeLimit(.minutes(15))) struct StoreLoginStorageTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func open(_ name: String) throws -> Dunlin {
      try Dunlin(
        path: folder.file(name), identity: .unsafeDevelopment(appID: "garage"),
        configuration: DunlinConfiguration(logger: quietLogger, mapBytes: 1 << 30))
    }

    private func event(_ number: Int) -> LoginEvent {
      var event = LoginEvent(.issued, at: Date(timeIntervalSince1970: Double(number)))
      event.user = "user \(number)"
      return event
    }

    @Test func `audit log and revocations are there after a restart, and in a backup`() async throws {
      let keys = (0..<2).map { _ in DeviceKey().peerKey }
      do {
        let dunlin = try open("store")
        let storage = StoreLoginStorage(dunlin.store)
        let audit = LoginAudit(storage, .init())
        let revocations = try Revocations(storage, audit: audit) { _ in }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
          for number in 0..<100 { tasks.addTask { try await audit.add(event(number)) } }
          try await tasks.waitForAll()
        }
        for key in keys { try await revocations.revoke(key, reason: "lost") }
        try await dunlin.store.backup(to: folder.file("backup"))
        try dunlin.close()
      }
      for name in ["store", "backup"] {
        let dunlin = try open(name)
        let storage = StoreLoginStorage(dunlin.store)
        let audit = LoginAudit(storage, .init())
        let applied = KeySet()
        let revocations = try Revocations(storage, audit: audit) { applied.insert($0) }
        expectEqual(applied.keys, Set(keys))
        expect(revocations.all.allSatisfy { $0.reason == "lost" })
        let events = try #require(try audit.events(.issues, after: nil, count: 1_000)).events
        expectEqual(Set(events.compactMap(\.user)).count, 100)
        expectEqual(events.suffix(2).map(\.kind), [.revoked, .revoked])
        // They are no documents.
        try await expect(dunlin.store.execute(query: "SELECT * FROM system:collections").items.isEmpty)
        try dunlin.close()
      }
    }

    @Test func `an entry that is damaged in the file is left out, and those behind it are read`() async throws
    {
      do {
        let dunlin = try open("store")
        let audit = LoginAudit(StoreLoginStorage(dunlin.store), .init())
        for number in 0..<5 { try await audit.add(event(number)) }
        try dunlin.close()
      }
      #expect(try damage("user 2", by: "us\u{7}r 2") > 0)
      let dunlin = try open("store")
      let audit = LoginAudit(StoreLoginStorage(dunlin.store), .init())
      let events = try #require(try audit.events(.issues, after: nil, count: 5)).events
      #expect(events.compactMap(\.user) == [0, 1, 3, 4].map { "user \($0)" })
      try dunlin.close()
    }

    /// Replaces a text wherever the store's files have it.
    private func damage(_ old: String, by new: String) throws -> Int {
      var count = 0
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.file("store")) {
        let url = URL(filePath: folder.file("store/\(name)"))
        guard var data = try? Data(contentsOf: url), data.firstRange(of: Data(old.utf8)) != nil else {
          continue
        }
        while let range = data.firstRange(of: Data(old.utf8)) {
          data.replaceSubrange(range, with: Data(new.utf8))
          count += 1
        }
        try data.write(to: url)
      }
      return count
    }

    @Test func `a transaction that throws changes nothing`() async throws {
      struct Stop: Error {}
      let dunlin = try open("store")
      let storage = StoreLoginStorage(dunlin.store)
      await #expect(throws: (any Error).self) {
        try await storage.write { tables in
          try tables.set([1], .audit, [1])
          throw Stop()
        }
      }
      try storage.read { tables in
        #expect(try tables.value(.audit, [1]) == nil)
        var isRefused = false
        do { try tables.set([1], .audit, [1]) } catch is BigPeerError { isRefused = true }
        #expect(isRefused)
      }
      try dunlin.close()
    }

    @Test func `many entries are trimmed to the limit`() async throws {
      let dunlin = try open("store")
      var limits = BigPeerConfiguration.LoginLimits()
      limits.auditedIssues = 10
      let audit = LoginAudit(StoreLoginStorage(dunlin.store), limits)
      for number in 0..<30 { try await audit.add(event(number)) }
      let events = try #require(try audit.events(.issues, after: nil, count: 1_000)).events
      #expect(events.compactMap(\.user) == (20..<30).map { "user \($0)" })
      try dunlin.close()
    }
  }
#endif
