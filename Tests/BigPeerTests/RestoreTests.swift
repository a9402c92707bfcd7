#if Server
  import BigPeer
  import CRDTCore
  import DocStore
  import Facade
  import Foundation
  import LoginKit
  import TestKit
  import Testing

  @Suite struct RestoreTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// What a server was, of which a backup was made.
    private struct Original {
      /// Keys: one that is in the backup, and one that was made since.
      let kept, made: String
      let token: String
    }

    private func api(_ running: RunningBigPeer, _ authorization: String) throws -> APIClient {
      var api = try APIClient(running.addresses.http, token: nil)
      api.headers["Authorization"] = authorization
      return api
    }

    /// Runs a server, makes a backup of it, and has it write on.
    private func serve(
      _ configuration: BigPeerConfiguration, _ device: Dunlin, backup copy: String, hook: String
    ) async throws -> Original {
      try await RunningBigPeer.with(configuration) { running -> Original in
        let api = try await running.api()
        _ = try await api.execute("INSERT INTO orders DOCUMENTS ({'_id': 'before'})")
        let added = try await api.post("/api/v4/webhooks", hook)
        #expect(added.status == 201, "\(added.fields)")
        let revoked = try await running.api()
        let admin = try running.admin()
        let path = "/admin/applications/default"
        #expect(try await admin.send("POST", "\(path)/backup", "{\"directory\":\"\(copy)\"}").status == 200)
        let text = try #require(revoked.headers["Authorization"])
        #expect(
          try await admin.send("DELETE", "\(path)/keys/\(text.split(separator: ".")[1])").status == 204)
        let later = try await running.api()
        let write = try await api.execute("INSERT INTO orders DOCUMENTS ({'_id': 'after'})")
        try await self.connect(device, running)
        try await self.awaitCount(2, at: device)
        device.stopSync()
        return Original(
          kept: text, made: try #require(later.headers["Authorization"]),
          token: try #require(write.fields["transactionId"]?.text))
      }
    }

    /// A local webhook receiver, a configuration that allows it, and the text that registers a webhook there.
    private func receiver() async throws -> (HTTPSServer, BigPeerConfiguration, hook: String) {
      let server = try await HTTPSServer { _ in .answer(204, [], "") }
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.applications[0].feed.allowsPrivateAddresses = true
      configuration.applications[0].feed.webhookAuthorities = server.authorityFile
      return (
        server, configuration,
        #"{"url":"https://localhost:\#(server.port)/hook","statement":"SELECT * FROM orders"}"#
      )
    }

    private func wait(until condition: () async throws -> Bool) async throws {
      while try await !condition() { try await Task.sleep(for: .milliseconds(20)) }
    }

    @Test func `a copy keeps quiet until it is told to go on, also over a restart`() async throws {
      let (receiver, configuration, hook) = try await receiver()
      let (store, copy) = (folder.file("applications/default/store"), folder.file("copy"))
      let place = try TemporaryDirectory()
      let device = try await device(configuration, at: place)
      let subscription = try device.sync.registerSubscription(query: "SELECT * FROM orders")
      let original = try await serve(configuration, device, backup: copy, hook: hook)
      try FileManager.default.removeItem(atPath: store)
      try FileManager.default.moveItem(atPath: copy, toPath: store)
      for _ in 0..<2 {
        try await RunningBigPeer.with(configuration) { running in
          let delivered = receiver.requests.count
          let refused = try await self.api(running, original.kept).execute("SELECT * FROM orders")
          expectEqual(refused.status, 503)
          expectEqual(refused.fields["code"], .string("restored"))
          let ready = try await APIClient(running.addresses.admin, token: nil).send("GET", "/readyz")
          expectEqual(ready.status, 503)
          expect(ready.text.contains("restored"), "\(ready.text)")
          // A key that was made here does work, and shows the webhooks that came along.
          let own = try await running.api()
          let hooks = try await own.send("GET", "/api/v4/webhooks")
          expect(hooks.text.contains("\"pause\":\"restored\""), "\(hooks.text)")
          let id = try #require(hooks.text.split(separator: "\"").first { $0.hasPrefix("wh_") })
          let resumed = try await own.send("PATCH", "/api/v4/webhooks/\(id)", "{\"paused\":false}")
          expect(resumed.text.contains("\"pause\":\"restored\""), "\(resumed.text)")
          expectEqual(
            try await own.execute("INSERT INTO orders DOCUMENTS ({'_id': 'own'}) ON ID CONFLICT DO UPDATE")
              .status, 200)
          try await Task.sleep(for: .milliseconds(300))
          expectEqual(receiver.requests.count, delivered)
        }
      }
      try await RunningBigPeer.with(configuration) { running in
        let resume = "/admin/applications/default/resume"
        #expect(try await running.admin().post(resume, "{}").fields["wasRestored"] == .bool(true))
        #expect(try await running.admin().post(resume, "{}").fields["wasRestored"] == .bool(false))
        // Keys are those of the backup: what was revoked since is back, and what was made since is gone.
        #expect(try await self.api(running, original.made).execute("SELECT * FROM orders").status == 401)
        let api = try self.api(running, original.kept)
        #expect(
          try await api.execute("SELECT * FROM orders", headers: ["Dunlin-Transaction": original.token])
            .status == 409)
        // Nobody knows what of it the receiver has: it is told to read all anew.
        try await self.wait {
          receiver.requests.contains { String(decoding: $0.body, as: UTF8.self).contains("requeryRequired") }
        }
        // The device proves itself by the key that both share, and brings what the backup lacks.
        try await self.connect(device, running)
        try await self.wait {
          try await api.execute("SELECT * FROM orders").fields["items"]?.list?.count == 3
        }
      }
      try await RunningBigPeer.with(configuration) { running in
        let answer = try await self.api(running, original.kept).execute("SELECT * FROM orders")
        #expect(answer.status == 200)
      }
      subscription.cancel()
      try device.close()
    }

    @Test func `a backup that is restored as the original goes on at once, and the device key stays`()
      async throws
    {
      let (receiver, configuration, hook) = try await receiver()
      let (store, copy) = (folder.file("applications/default/store"), folder.file("copy"))
      let place = try TemporaryDirectory()
      let device = try await device(configuration, at: place)
      let subscription = try device.sync.registerSubscription(query: "SELECT * FROM orders")
      let original = try await serve(configuration, device, backup: copy, hook: hook)
      let key = try Data(contentsOf: URL(filePath: "\(store)/device.key"))
      let restore = StoreRestore(copy, configuration.applications[0], asOriginal: true)
      let refusal = try await RunningBigPeer.with(configuration) { _ in
        #expect(throws: StoreError.self) { try restore.carryOut() }
      }
      #expect(refusal?.code == .alreadyOpen)
      let former = try #require(try restore.carryOut())
      #expect(FileManager.default.fileExists(atPath: "\(former)/data.mdb"))
      #expect(try Data(contentsOf: URL(filePath: "\(store)/device.key")) == key)
      let delivered = receiver.requests.count
      try await RunningBigPeer.with(configuration) { running in
        let api = try self.api(running, original.kept)
        #expect(try await api.execute("SELECT * FROM orders").fields["items"]?.list?.count == 1)
        #expect(try await APIClient(running.addresses.admin, token: nil).send("GET", "/readyz").status == 200)
        _ = try await api.execute("INSERT INTO orders DOCUMENTS ({'_id': 'later'})")
        try await self.wait { receiver.requests.count > delivered }
      }
      subscription.cancel()
      try device.close()
    }

    /// Neither a clock that was put right nor a peer that has met a copy makes a copy of the store.
    @Test(arguments: [IdentityChange.Reason.clock, .cloned])
    func `a store that took a new site while it ran is no copy after a restart`(
      _ reason: IdentityChange.Reason
    ) async throws {
      let application = RunningBigPeer.configuration(in: folder).applications[0]
      let first = try await HostedApplication.open(application)
      try await first.dunlin.parts.store.renewSite(reason)
      await first.close()
      let second = try await HostedApplication.open(application)
      #expect(!second.origin.isRestored)
      await second.close()
    }

    @Test func `a damaged backup, and one that takes no place, change nothing`() async throws {
      let configuration = RunningBigPeer.configuration(in: folder)
      let (store, copy) = (folder.file("applications/default/store"), folder.file("copy"))
      try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api()
        for number in 0..<200 {
          _ = try await api.execute("INSERT INTO orders DOCUMENTS ({'_id': \(number), 'text': 'some text'})")
        }
        let answer = try await running.admin().send(
          "POST", "/admin/applications/default/backup", "{\"directory\":\"\(copy)\"}")
        #expect(answer.status == 200)
      }
      let application = configuration.applications[0]
      let before = try Data(contentsOf: URL(filePath: "\(store)/data.mdb"))
      #expect(throws: (any Error).self) {
        try StoreRestore(self.folder.file("nothing"), application, asOriginal: false).carryOut()
      }
      let file = "\(copy)/data.mdb"
      var damaged = try Data(contentsOf: URL(filePath: file))
      for place in stride(from: 3 * 4_096 + 100, to: damaged.count, by: 4_096) { damaged[place] ^= 0xFF }
      try damaged.write(to: URL(filePath: file))
      #expect {
        try StoreRestore(copy, application, asOriginal: false).carryOut()
      } throws: {
        "\($0)".contains("is damaged")
      }
      #expect(try Data(contentsOf: URL(filePath: "\(store)/data.mdb")) == before)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.file("applications/default"))
      #expect(names.sorted() == ["shared.key", "store"])
    }

    private func device(_ configuration: BigPeerConfiguration, at place: TemporaryDirectory) async throws
      -> Dunlin
    {
      // The first start makes the key.
      try await RunningBigPeer.with(configuration) { _ in }
      let key = try DunlinSharedKey(
        String(contentsOfFile: configuration.applications[0].sharedKeyPath, encoding: .utf8))
      let device = try Dunlin(
        path: place.path, identity: .sharedKey(appID: "default", key: key),
        configuration: DunlinConfiguration(mapBytes: 1 << 30))
      return device
    }

    private func connect(_ device: Dunlin, _ running: RunningBigPeer) async throws {
      let address = try #require(running.addresses.devices["default"]?.first)
      device.connect(
        host: "127.0.0.1", port: try #require(address.split(separator: ":").last.flatMap { Int($0) }))
      try device.startSync()
    }

    private func awaitCount(_ count: Int, at device: Dunlin) async throws {
      var found: Int?
      for _ in 0..<300 where found != count {
        found = try await device.store.execute(query: "SELECT * FROM orders").items.count
        if found != count { try await Task.sleep(for: .milliseconds(50)) }
      }
      #expect(found == count)
    }
  }
#endif
