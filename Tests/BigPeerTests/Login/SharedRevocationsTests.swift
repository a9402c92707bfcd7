#if Server
  import BigPeer
  import CRDTCore
  import Facade
  import Foundation
  import Links
  import SyncProtocol
  import TestKit
  import Testing
  import Transports

  /// Keys that a big peer revokes, on the list of its authority for logins.
  @Suite(.timeLimit(.minutes(15))) struct SharedRevocationsTests {
    private let folder: TemporaryDirectory
    private let authority: PeerAuthority
    private let intermediate: PeerAuthority
    private let now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())

    init() throws {
      folder = try TemporaryDirectory()
      authority = try PeerAuthority(application: "garage", validity: now - 86_400..<now + 864_000)
      intermediate = try authority.makeIntermediate(validity: now - 3_600..<now + 86_400)
    }

    private func issuer(_ authority: PeerAuthority) throws -> LoginIssuer {
      let path = folder.file("\(UUID()).pem")
      try LoginRig.write(try authority.pem, to: path)
      return try LoginIssuer(.file(path), application: "garage")
    }

    private func open() throws -> Dunlin {
      let path = folder.file("store")
      let key = try DunlinDevice.publicKey(path: path)
      return try Dunlin(
        path: path,
        identity: .certificate(
          appID: "garage", authority: try authority.trusted.pem,
          certificate: try issuer(intermediate).issueOwn(to: key)),
        configuration: DunlinConfiguration(peerKind: .big, logger: quietLogger, mapBytes: 1 << 30))
    }

    @Test func `keys are added once, needed until the root ends, and stored`() async throws {
      let keys = (0..<3).map { _ in DeviceKey().peerKey }
      let dunlin = try open()
      let issuer = try issuer(intermediate)
      let shared = SharedRevocations(dunlin) { issuer }
      try await shared.addDurably([keys[0]])
      try await shared.addDurably([keys[0]])
      try await shared.addDurably([keys[0], keys[1]])
      let held = try #require(dunlin.parts.network.revocations.held(intermediate.hash))
      #expect(held.list.head.number == 2 && held.list.head.count == 2)
      let end = Int64((now + 864_000).timeIntervalSince1970)
      #expect(held.list.entries.allSatisfy { $0.neededUntil == end })
      // With another intermediate authority, what the former one has revoked stays.
      let next = try authority.makeIntermediate(validity: now - 60..<now + 86_400)
      let nextIssuer = try self.issuer(next)
      let later = SharedRevocations(dunlin) { nextIssuer }
      try await later.addDurably(Set(keys))
      #expect(
        dunlin.parts.network.revocations.held(next.hash)?.list.entries.map(\.subject) == [.key(keys[2])])
      try dunlin.close()
      let again = try open()
      for key in keys { expect(again.parts.network.revocations.contains(key)) }
      try again.close()
    }

    @Test func `many at the same time make one list, which has all of them`() async throws {
      let keys = (0..<40).map { _ in DeviceKey().peerKey }
      let dunlin = try open()
      let issuer = try issuer(intermediate)
      let shared = SharedRevocations(dunlin) { issuer }
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for key in keys { tasks.addTask { try await shared.addDurably([key]) } }
        try await tasks.waitForAll()
      }
      let held = try #require(dunlin.parts.network.revocations.held(intermediate.hash))
      #expect(held.list.head.count == 40 && held.kept.isEmpty)
      try dunlin.close()
    }

    @Test func `what a newer list has lost is signed again`() async throws {
      let (own, others) = (DeviceKey().peerKey, (0..<2).map { _ in DeviceKey().peerKey })
      let dunlin = try open()
      let issuer = try issuer(intermediate)
      let shared = SharedRevocations(dunlin) { issuer }
      shared.mend { error in Issue.record(error) }
      try await shared.addDurably([own])
      // As devices have it, which were told before a backup was restored.
      let end = Int64((now + 60).timeIntervalSince1970)
      var list: RevocationList?
      for key in others {
        list = try RevocationList.make(
          by: intermediate, extending: list, adding: [RevocationEntry(.key(key), neededUntil: end)], now: now)
      }
      try await dunlin.addRevocations(try #require(list).file)
      let lists = dunlin.parts.network.revocations
      while lists.held(intermediate.hash)?.list.head.number != 3 {
        try await Task.sleep(for: .milliseconds(2))
      }
      let held = try #require(lists.held(intermediate.hash))
      #expect(held.list.head.count == 3 && held.kept.isEmpty)
      try dunlin.close()
    }

    @Test func `a key that a list names gets no certificate, and what cannot be shared is said`() async throws
    {
      let dunlin = try open()
      let storage = MemoryLoginStorage()
      let revocations = try Revocations(storage, audit: LoginAudit(storage, .init())) { _ in }
      let (listed, other) = (DeviceKey().peerKey, DeviceKey().peerKey)
      revocations.use { [weak dunlin] in dunlin?.parts.network.revocations }
      let end = Int64((now + 60).timeIntervalSince1970)
      let list = try RevocationList.make(
        by: authority, extending: nil,
        adding: [
          RevocationEntry(.key(listed), neededUntil: end),
          RevocationEntry(.user("ann", issuedBefore: end - 100), neededUntil: end),
        ], now: now)
      try await dunlin.addRevocations(list.file)
      #expect(revocations.contains(listed) && !revocations.contains(other))
      #expect(revocations.cutoff(ofUser: "ann") == now - 40)
      #expect(revocations.cutoff(ofUser: "bob") == nil)
      revocations.share { _ in throw LinkError(.limit, "full") }
      let error = await #expect(throws: BigPeerError.self) { try await revocations.revoke(other) }
      #expect(error?.description.contains("cannot be made or stored") == true)
      #expect(revocations.contains(other))
      try dunlin.close()
    }
  }
#endif
