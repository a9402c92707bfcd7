#if Server
  import BigPeer
  import CRDTCore
  import DocStore
  import Facade
  import Foundation
  import TestKit
  import Testing
  import Transports

  /// Who has not confirmed an erasure, and how a server tells it.
  @Suite struct UnconfirmedDevicesTests {
    private let folder: TemporaryDirectory
    private let place: TemporaryDirectory
    private let lines = LogLines()

    init() throws {
      folder = try TemporaryDirectory()
      place = try TemporaryDirectory()
    }

    /// Runs a big peer with documents in a collection, and a device that has them all.
    private func withDevice(
      _ body: @escaping @Sendable (RunningBigPeer, APIClient, Dunlin) async throws -> Void
    ) async throws {
      let place = place
      let configuration = RunningBigPeer.configuration(in: folder)
      try await RunningBigPeer.with(configuration, logger: lines.logger) { running in
        let api = try await running.api()
        _ = try await api.execute(
          "INSERT INTO people DOCUMENTS (:d)",
          args: #"{"d":[{"_id":"p1"},{"_id":"p2"},{"_id":"p3"},{"_id":"p4"}]}"#)
        let address = try #require(running.addresses.devices["default"]?.first)
        let port = try #require(address.split(separator: ":").last.flatMap { Int($0) })
        let key = try DunlinSharedKey(
          String(contentsOfFile: configuration.applications[0].sharedKeyPath, encoding: .utf8))
        let device = try Dunlin(
          path: place.path, identity: .sharedKey(appID: "default", key: key),
          configuration: DunlinConfiguration(peerName: "till", mapBytes: 1 << 30))
        let subscription = try device.sync.registerSubscription(query: "SELECT * FROM people")
        device.connect(host: "127.0.0.1", port: port)
        try device.startSync()
        try await device.sync.waitUntilHere(subscription, timeout: .seconds(120))
        #expect(try await device.store.execute(query: "SELECT * FROM people").items.count == 4)
        try await body(running, api, device)
        subscription.cancel()
        try device.close()
      }
    }

    /// Waits until a device that has ended sync is gone, with what it subscribed to.
    private func waitUntilGone(_ device: Dunlin, from application: HostedApplication) async {
      device.stopSync()
      for await _ in application.parts.network.statusCalls()
      where !application.parts.network.standings.contains(where: \.isConnected) { return }
    }

    @Test func `a device that has left is named, and what cannot be read fails no erasure`() async throws {
      let lines = lines
      try await withDevice { running, _, device in
        let application = try #require(running.bigPeer.applications?["default"])
        await self.waitUntilGone(device, from: application)
        let answer = try await running.admin().post(
          "/admin/applications/default/erase", #"{"collection":"people","ids":["p1"]}"#)
        #expect(answer.status == 200)
        #expect(answer.fields["unconfirmedCount"] == .int(1), "\(answer.fields)")
        #expect(answer.fields["areLoginsCounted"] == .bool(true))
        let named = answer.fields["unconfirmed"]?.list?.first
        #expect(named?["name"] == .string("till") && named?["isConnected"] == .bool(false))

        let storage = MemoryLoginStorage()
        let audit = LoginAudit(storage, BigPeerConfiguration.LoginLimits())
        var login = LoginEvent(.issued, at: Date())
        (login.deviceKey, login.user) = ("02ab", "ann")
        login.validUntil = Date(timeIntervalSinceNow: 3_600)
        try await audit.add(login)
        let sequence = try application.parts.store.read { $0.sequence }
        let all = await application.unconfirmedDevices(of: sequence, logins: audit)
        #expect(all.count == 2 && all.areLoginsCounted)
        #expect(all.names.last?["user"] == .string("ann") && all.names.last?["deviceKey"] == .string("02ab"))

        storage.damage(.state, Array("issues".utf8))
        let some = await application.unconfirmedDevices(of: sequence, logins: audit)
        #expect(some.count == 1 && !some.areLoginsCounted)
        #expect(some.names.first?["name"] == .string("till"))
        let told = "the audit log of logins cannot be read"
        #expect(lines.all.contains { $0.hasPrefix("error") && $0.contains(told) })
      }
    }

    @Test func `a device that comes back and confirms is named no more`() async throws {
      try await withDevice { running, _, device in
        let application = try #require(running.bigPeer.applications?["default"])
        await self.waitUntilGone(device, from: application)
        let answer = try await running.admin().post(
          "/admin/applications/default/erase", #"{"collection":"people","ids":["p1"]}"#)
        #expect(answer.fields["unconfirmedCount"] == .int(1), "\(answer.fields)")
        let sequence = try application.parts.store.read { $0.sequence }
        #expect(answer.fields["sequence"] == .int(Int64(sequence)))
        try device.startSync()
        try await application.dunlin.sync.waitUntilArrived(sequence, timeout: .seconds(120))
        #expect(await application.unconfirmedDevices(of: sequence).count == 0)
      }
    }

    /// Erases one document over the API, with an `Idempotency-Key`.
    private func erase(
      _ id: String, _ api: APIClient, key: String
    ) async throws -> (fields: [TextKey: Value], isReplayed: Bool) {
      let answer = try await api.post(
        "/api/v4/store/write",
        #"{"commands":[{"method":"erase","collection":"people","id":"\#(id)"}]}"#,
        headers: ["Idempotency-Key": key])
      expectEqual(answer.status, 200, "\(answer.fields)")
      return (answer.fields, answer.headers["idempotency-replayed"] == "true")
    }

    @Test func `an erasure with an API key counts devices and names none, and counts anew when repeated`()
      async throws
    {
      try await withDevice { running, api, device in
        let application = try #require(running.bigPeer.applications?["default"])
        await self.waitUntilGone(device, from: application)
        let first = try await self.erase("p1", api, key: "one")
        #expect(!first.isReplayed)
        #expect(first.fields["unconfirmedCount"] == .int(1), "\(first.fields)")
        #expect(first.fields["areLoginsCounted"] == .bool(true))
        #expect(first.fields["limits"] == .string(DunlinErasure.limits))
        #expect(first.fields["unconfirmed"] == nil)
        let again = try await self.erase("p1", api, key: "one")
        #expect(again.isReplayed && again.fields == first.fields)

        let sequence = try application.parts.store.read { $0.sequence }
        try device.startSync()
        try await application.dunlin.sync.waitUntilArrived(sequence, timeout: .seconds(120))
        var later = try await self.erase("p1", api, key: "one")
        #expect(later.isReplayed && later.fields["unconfirmedCount"] == .int(0), "\(later.fields)")
        later.fields["unconfirmedCount"] = .int(1)
        #expect(later.fields == first.fields)
        #expect(try application.parts.store.read { $0.sequence } == sequence)
        // A connected device has a second to confirm.
        let connected = try await self.erase("p2", api, key: "two")
        #expect([.int(0), .int(1)].contains(connected.fields["unconfirmedCount"]))
      }
      // Once for each erasure: a repeated request erases nothing.
      #expect(lines.all.count { $0.contains("Documents were erased") } == 2)
    }
  }
#endif
