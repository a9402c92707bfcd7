#if Server
  import BigPeer
  import Foundation
  import Links
  import TestKit
  import Testing

  @Suite struct LoginAuditTests {
    private let storage = MemoryLoginStorage()

    private func audit(issues: Int = 1_000, refusals: Int = 1_000) -> LoginAudit {
      var limits = BigPeerConfiguration.LoginLimits()
      (limits.auditedIssues, limits.auditedRefusals) = (issues, refusals)
      return LoginAudit(storage, limits)
    }

    private func event(_ kind: LoginEvent.Kind, _ number: Int) -> LoginEvent {
      var event = LoginEvent(kind, at: Date(timeIntervalSince1970: Double(number) + 0.25))
      event.user = "user \(number)"
      return event
    }

    @Test func `entries are read in their order, page by page, from any position`() async throws {
      let audit = audit()
      #expect(try audit.events(.issues, after: nil, count: 10)?.events.isEmpty == true)
      let start = try #require(try audit.events(.issues, after: nil, count: 10)).next
      for number in 0..<25 { try await audit.add(event(.issued, number)) }
      for number in 0..<3 { try await audit.add(event(.refused, number)) }
      try await audit.add(event(.revoked, 25))
      var (position, seen) = (start, [LoginEvent]())
      for size in [10, 10, 6, 0] {
        let page = try #require(try audit.events(.issues, after: position, count: 10))
        expectEqual(page.events.count, size)
        seen += page.events
        position = page.next
      }
      #expect(seen == (0..<25).map { event(.issued, $0) } + [event(.revoked, 25)])
      // What comes later is found from there on.
      try await audit.add(event(.issued, 26))
      #expect(try audit.events(.issues, after: position, count: 10)?.events == [event(.issued, 26)])
      #expect(
        try audit.events(.issues, after: nil, count: 2)?.events == [event(.revoked, 25), event(.issued, 26)])
      #expect(try audit.events(.refusals, after: nil, count: 10)?.events.count == 3)
      for wrong in ["", "-1", "x y", String(repeating: "z", count: 14)] {
        try expect(audit.events(.issues, after: wrong, count: 10) == nil)
      }
      #expect(try audit.events(.issues, after: nil, count: 0) == nil)
    }

    @Test func `the oldest leave when there are too many, and refusals push out no issue`() async throws {
      let audit = audit(issues: 5, refusals: 3)
      let start = try #require(try audit.events(.issues, after: nil, count: 1)).next
      for number in 0..<8 { try await audit.add(event(.issued, number)) }
      for number in 0..<100 { try await audit.add(event(.refused, number)) }
      #expect(storage.count(.audit) == 5)
      #expect(storage.count(.refusals) == 3)
      #expect(
        try audit.events(.issues, after: start, count: 100)?.events == (3..<8).map { event(.issued, $0) })
      #expect(
        try audit.events(.refusals, after: nil, count: 100)?.events == (97..<100).map { event(.refused, $0) })
      // A smaller limit later takes away step by step.
      let smaller = LoginAudit(
        storage,
        {
          var limits = BigPeerConfiguration.LoginLimits()
          limits.auditedIssues = 2
          return limits
        }())
      try await smaller.add(event(.issued, 8))
      #expect(
        try smaller.events(.issues, after: nil, count: 9)?.events == [event(.issued, 7), event(.issued, 8)])
    }

    @Test func `many add at once, and none is lost`() async throws {
      let audit = audit()
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for number in 0..<200 { tasks.addTask { try await audit.add(event(.issued, number)) } }
        try await tasks.waitForAll()
      }
      let events = try #require(try audit.events(.issues, after: nil, count: 1_000)).events
      #expect(Set(events.compactMap(\.user)).count == 200)
    }

    @Test func `every field comes back as it was`() async throws {
      var all = event(.issued, 7)
      (all.deviceKey, all.provider, all.source) = ("\(DeviceKey().peerKey)", "pröv", "::1")
      (all.reason, all.serialNumber) = ("\"why\"\n", "00ff")
      all.validUntil = Date(timeIntervalSince1970: 2_000_000_000)
      let audit = audit()
      try await audit.add(all)
      #expect(try audit.events(.issues, after: nil, count: 1)?.events == [all])
      // A damaged entry is passed over.
      storage.set([1], .audit, [0, 0, 0, 0, 0, 0, 0, 0])
      #expect(try audit.events(.issues, after: nil, count: 1)?.events.isEmpty == true)
    }

    @Test func `damaged entries are passed over, and those behind them are read`() async throws {
      let audit = audit()
      let start = try #require(try audit.events(.issues, after: nil, count: 1)).next
      for number in 0..<10 { try await audit.add(event(.issued, number)) }
      for place: UInt8 in [0, 4, 5, 9] { storage.damage(.audit, [0, 0, 0, 0, 0, 0, 0, place]) }
      var (position, seen) = (start, [LoginEvent]())
      for _ in 0..<5 {
        let page = try #require(try audit.events(.issues, after: position, count: 2))
        seen += page.events
        position = page.next
      }
      #expect(seen == [1, 2, 3, 6, 7, 8].map { event(.issued, $0) })
      try await audit.add(event(.issued, 10))
      #expect(try audit.events(.issues, after: position, count: 9)?.events == [event(.issued, 10)])
      // Of keys that are refused none may be missed.
      let key = DeviceKey().peerKey
      try await Revocations(storage, audit: audit) { _ in }.revoke(key)
      storage.damage(.revocations, key.bytes)
      #expect(throws: MemoryLoginStorage.Failure.self) { try Revocations(storage, audit: audit) { _ in } }
    }

    // MARK: - Devices

    /// A certificate of a device that is valid until a time, in seconds since 1970.
    private func issue(_ device: String, until end: Double) -> LoginEvent {
      var event = event(.issued, 0)
      (event.deviceKey, event.validUntil) = (device, Date(timeIntervalSince1970: end))
      return event
    }

    private func devices(_ audit: LoginAudit, at seconds: Double) async throws -> [String] {
      try await audit.devices(at: Date(timeIntervalSince1970: seconds)).map(\.deviceKey)
    }

    @Test func `devices are known by the last issue of each, and each entry is read once`() async throws {
      let audit = audit(issues: 10_000)
      #expect(try await devices(audit, at: 0) == [])
      for number in 0..<1_100 { try await audit.add(issue("k\(number % 100)", until: 200)) }
      let all = (0..<100).map { "k\($0)" }
      #expect(try await devices(audit, at: 100) == all)
      #expect(storage.visitCount >= 1_100)
      #expect(try await audit.devices(at: Date(timeIntervalSince1970: 100)).first?.user == "user 0")
      let before = storage.visitCount
      #expect(try await devices(audit, at: 100) == all)
      #expect(storage.visitCount == before)

      try await audit.add(issue("k0", until: 300))
      try await audit.add(issue("k7", until: 50))
      var revoked = event(.revoked, 0)
      revoked.deviceKey = "k5"
      try await audit.add(revoked)
      let rest = all.filter { !["k0", "k5", "k7"].contains($0) } + ["k0"]
      #expect(try await devices(audit, at: 100) == rest)
      #expect(storage.visitCount == before + 3)
      #expect(try await devices(audit, at: 10) == rest + ["k7"])
      #expect(try await devices(audit, at: 250) == ["k0"])
      try await audit.add(issue("k5", until: 300))
      #expect(try await devices(audit, at: 250) == ["k0", "k5"])
      #expect(storage.visitCount == before + 4)
      // The same after a restart.
      #expect(try await devices(self.audit(issues: 10_000), at: 250) == ["k0", "k5"])
    }

    @Test func `many ask for the devices while others log in, and none is missed`() async throws {
      let audit = audit()
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for number in 0..<40 {
          tasks.addTask {
            try await audit.add(issue("k\(number)", until: 200))
            try await expect(devices(audit, at: 100).contains("k\(number)"))
          }
        }
        try await tasks.waitForAll()
      }
      #expect(Set(try await devices(audit, at: 100)).count == 40)
    }

    @Test func `a list of issues that cannot be read is an error, also after it could be`() async throws {
      let audit = audit()
      try await audit.add(issue("k1", until: 200))
      #expect(try await devices(audit, at: 100) == ["k1"])
      storage.damage(.state, Array("issues".utf8))
      await #expect(throws: MemoryLoginStorage.Failure.self) { try await self.devices(audit, at: 100) }
    }

    // MARK: - Revocations

    @Test func `revocations are there after a restart, and apply from the first`() async throws {
      let audit = audit()
      let keys = (0..<3).map { _ in DeviceKey().peerKey }
      let first = try Revocations(storage, audit: audit) { _ in }
      for key in keys {
        try await expect(first.revoke(key, source: "admin", reason: "lost"))
        try await expect(!first.revoke(key))
      }
      let applied = KeySet()
      let second = try Revocations(storage, audit: audit) { applied.insert($0) }
      #expect(applied.keys == Set(keys))
      #expect(keys.allSatisfy { second.contains($0) })
      #expect(!second.contains(DeviceKey().peerKey))
      #expect(Set(second.all.map(\.peerKey)) == Set(keys))
      #expect(second.all.allSatisfy { $0.reason == "lost" && $0.source == "admin" })
      #expect(
        try audit.events(.issues, after: nil, count: 9)?.events.map(\.kind) == [.revoked, .revoked, .revoked])
    }

    @Test func `a key is refused also where that cannot be stored, which is said and made up for`()
      async throws
    {
      let (applied, audit) = (KeySet(), audit())
      let revocations = try Revocations(storage, audit: audit) { applied.insert($0) }
      let key = DeviceKey().peerKey
      storage.fails = true
      for _ in 0..<2 {
        let error = await #expect(throws: BigPeerError.self) {
          try await revocations.revoke(key, source: "admin", reason: "stolen")
        }
        expectEqual(
          error?.description.contains("is refused until the next start, and not stored"), true,
          "\(String(describing: error))")
        expect(revocations.contains(key))
        expectEqual(applied.keys, [key])
      }
      storage.fails = false
      #expect(storage.count(.revocations) == 0)
      // Asked again, it is stored as it was.
      #expect(try await !revocations.revoke(key, reason: "again"))
      #expect(try await !revocations.revoke(key))
      let restarted = try Revocations(storage, audit: audit) { _ in }
      #expect(restarted.all.map(\.peerKey) == [key] && restarted.all.first?.reason == "stolen")
      #expect(try audit.events(.issues, after: nil, count: 9)?.events.map(\.reason) == ["stolen"])
      await #expect(throws: BigPeerError.self) {
        try await revocations.revoke(DeviceKey().peerKey, reason: String(repeating: "r", count: 513))
      }
      #expect(applied.keys == [key])
    }

    @Test func `a damaged audit log keeps no key from being revoked for good`() async throws {
      let audit = audit()
      try await audit.add(event(.issued, 0))
      storage.damage(.state, Array("issues".utf8))
      let revocations = try Revocations(storage, audit: audit) { _ in }
      let key = DeviceKey().peerKey
      let error = await #expect(throws: BigPeerError.self) { try await revocations.revoke(key) }
      #expect(
        error?.description.contains("is revoked, and its entry in the audit log cannot be written") == true,
        "\(String(describing: error))")
      #expect(try Revocations(storage, audit: audit) { _ in }.contains(key))
    }

    @Test func `many who revoke one key at once make one entry`() async throws {
      let audit = audit()
      let revocations = try Revocations(storage, audit: audit) { _ in }
      let key = DeviceKey().peerKey
      let news = try await withThrowingTaskGroup(of: Bool.self) { tasks in
        for _ in 0..<20 { tasks.addTask { try await revocations.revoke(key) } }
        return try await tasks.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      #expect(news == 1)
      #expect(try audit.events(.issues, after: nil, count: 99)?.events.count == 1)
    }

    @Test func `a damaged list lets nobody in`() throws {
      storage.set(Array("{}".utf8), .revocations, DeviceKey().peerKey.bytes)
      #expect(throws: BigPeerError.self) { try Revocations(storage, audit: audit()) { _ in } }
    }
  }
#endif
