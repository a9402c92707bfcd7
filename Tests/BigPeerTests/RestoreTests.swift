#if Server
  import BigPeer
  import CRDTCore
  import Facade
  import Foundation
  import TestKit
  import Testing

  @Suite struct RestoreTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    @Test func `a backup that takes the store's place serves devices and web back ends, with its keys`()
      async throws
    {
      let configuration = RunningBigPeer.configuration(in: folder)
      let (store, copy) = (folder.file("applications/default/store"), folder.file("copy"))
      let place = try TemporaryDirectory()
      let device = try await device(configuration, at: place)
      let subscription = try device.sync.registerSubscription(query: "SELECT * FROM orders")
      let (kept, made, token) = try await RunningBigPeer.with(configuration) {
        running -> (String, String, String) in
        let api = try await running.api()
        _ = try await api.execute("INSERT INTO orders DOCUMENTS ({'_id': 'before'})")
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
        try await self.expect(2, at: device)
        device.stopSync()
        return (
          text, try #require(later.headers["Authorization"]),
          try #require(write.fields["transactionId"]?.text)
        )
      }
      try FileManager.default.removeItem(atPath: store)
      try FileManager.default.moveItem(atPath: copy, toPath: store)
      try await RunningBigPeer.with(configuration) { running in
        var api = try APIClient(running.addresses.http, token: nil)
        // Keys are those of the backup: what was revoked since is back, and what was made since is gone.
        api.headers["Authorization"] = made
        #expect(try await api.execute("SELECT * FROM orders").status == 401)
        api.headers["Authorization"] = kept
        #expect(try await api.execute("SELECT * FROM orders").fields["items"]?.list?.count == 1)
        #expect(
          try await api.execute("SELECT * FROM orders", headers: ["Dunlin-Transaction": token]).status == 409)
        // The device proves itself by the key that both share, and brings what the backup lacks.
        try await self.connect(device, running)
        var count: Int?
        for _ in 0..<300 where count != 2 {
          count = try await api.execute("SELECT * FROM orders").fields["items"]?.list?.count
          if count != 2 { try await Task.sleep(for: .milliseconds(50)) }
        }
        #expect(count == 2)
      }
      subscription.cancel()
      try device.close()
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

    private func expect(_ count: Int, at device: Dunlin) async throws {
      var found: Int?
      for _ in 0..<300 where found != count {
        found = try await device.store.execute(query: "SELECT * FROM orders").items.count
        if found != count { try await Task.sleep(for: .milliseconds(50)) }
      }
      #expect(found == count)
    }
  }
#endif
