#if Server
  import BigPeer
  import Facade
  import Foundation
  import TestKit
  import Testing

  @Suite struct BigPeerTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func key(_ configuration: BigPeerConfiguration) throws -> DunlinSharedKey {
      try DunlinSharedKey(
        String(contentsOfFile: configuration.applications[0].sharedKeyPath, encoding: .utf8))
    }

    @Test func `a device with the shared key that was made syncs in both directions`() async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.applications[0].subscriptions = ["orders"]
      let device = try TemporaryDirectory()
      try await RunningBigPeer.with(configuration) { [configuration] running in
        let address = try #require(running.addresses.devices["default"]?.first)
        let port = try #require(address.split(separator: ":").last.flatMap { Int($0) })
        let dunlin = try Dunlin(
          path: device.path,
          identity: .sharedKey(appID: "default", key: try self.key(configuration)),
          configuration: DunlinConfiguration(mapBytes: 1 << 30))
        _ = try await dunlin.store.execute(query: "INSERT INTO orders DOCUMENTS ({'_id': 'a', 'price': 7})")
        let written = try await dunlin.store.commit { transaction in
          try transaction.scoped(toCollectionNamed: "orders").upsert(["_id": "b", "price": 8])
        }
        dunlin.connect(host: "127.0.0.1", port: port)
        try dunlin.startSync()
        let commit = try #require(written.id)
        _ = try await dunlin.sync.waitUntilArrived(commit, at: .bigPeer, timeout: .seconds(20))
        try dunlin.close()
      }
      // What was synced is there at the next start.
      let again = try await HostedApplication.open(configuration.applications[0])
      let result = try await again.dunlin.store.execute(query: "SELECT * FROM orders ORDER BY _id")
      #expect(result.items.map { $0["_id"].stringValue } == ["a", "b"])
      await again.close()
    }

    @Test func `it can be started again after a stop, and after its task was cancelled`() async throws {
      let configuration = RunningBigPeer.configuration(in: folder)
      for _ in 0..<2 { try await RunningBigPeer.with(configuration) { _ in } }
      let (starts, start) = AsyncStream.makeStream(of: BigPeerAddresses.self)
      let task = Task { try await BigPeer(configuration, logger: quietLogger) { start.yield($0) }.run() }
      for await _ in starts { break }
      task.cancel()
      _ = await task.result
      try await RunningBigPeer.with(configuration) { _ in }
    }

    @Test func `a port in use is named, and nothing is left open`() async throws {
      let configuration = RunningBigPeer.configuration(in: folder)
      let other = try TemporaryDirectory()
      try await RunningBigPeer.with(configuration) { running in
        let url = try #require(running.addresses.http)
        var second = RunningBigPeer.configuration(in: other)
        let taken: ListenAddress = try #require(ListenAddress(String(url.dropFirst("http://".count))))
        second.http.listen = taken
        let message = await #expect(throws: (any Error).self) {
          try await BigPeer(second, logger: quietLogger).run()
        }
        #expect(
          "\(message.map { "\($0)" } ?? "")"
            == "http.listen: Cannot listen on \(taken): Address already in use")
        let devices = try #require(running.addresses.devices["default"]?.first)
        let port = try #require(devices.split(separator: ":").last.flatMap { Int($0) })
        second.http.listen = nil
        second.applications[0].devices.append(ListenAddress(host: "127.0.0.1", port: port))
        let other = await #expect(throws: (any Error).self) {
          try await BigPeer(second, logger: quietLogger).run()
        }
        #expect(
          "\(other.map { "\($0)" } ?? "")"
            == "applications[0].devices.listen[1]: Cannot listen on 127.0.0.1:\(port): Address already in use"
        )
        second.applications[0].devices.removeLast()
        // The store would be in use.
        try await RunningBigPeer.with(second) { _ in }
      }
    }

    @Test func `an application that cannot be opened is named, and the others are closed`() async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      var broken = configuration.applications[0]
      broken.id = "broken"
      broken.folder = folder.file("broken")
      broken.identity = .sharedKey(file: folder.file("none"))
      configuration.applications.append(broken)
      let error = await #expect(throws: ConfigurationError.self) {
        try await BigPeer(configuration, logger: quietLogger).run()
      }
      #expect(error?.description.hasPrefix("applications[1].identity.key: the file") == true)
      configuration.applications.removeLast()
      try await RunningBigPeer.with(configuration) { _ in }
    }

    @Test func `several applications have stores and keys of their own`() async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      var second = configuration.applications[0]
      second.id = "second"
      second.folder = folder.file("applications/second")
      configuration.applications.append(second)
      try await RunningBigPeer.with(configuration) { running in
        #expect(Set(running.addresses.devices.keys) == ["default", "second"])
      }
      let keys = try configuration.applications.map {
        try String(contentsOfFile: $0.sharedKeyPath, encoding: .utf8)
      }
      #expect(keys[0] != keys[1])
      let permissions =
        try FileManager.default.attributesOfItem(
          atPath: configuration.applications[0].sharedKeyPath)[.posixPermissions] as? Int
      #expect(permissions == 0o600)
    }
  }
#endif
