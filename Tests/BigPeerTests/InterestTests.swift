#if Server
  import BigPeer
  import CRDTCore
  import Facade
  import Foundation
  import TestKit
  import Testing

  /// What a big peer pulls from its devices.
  @Suite struct InterestTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func summary(_ running: RunningBigPeer) async throws -> Value {
      let answer = try await running.admin().send("GET", "/admin/applications/default")
      return try JSON.parse(answer.body)
    }

    @Test func `an application with more collections than a peer can pull starts again, and tells`()
      async throws
    {
      let configuration = RunningBigPeer.configuration(in: folder)
      try await RunningBigPeer.with(configuration) { running in
        let commands = (0..<300).map {
          "{\"method\":\"upsert\",\"collection\":\"c\($0)\",\"value\":{\"_id\":1}}"
        }
        let written = try await running.api().post(
          "/api/v4/store/write", "{\"commands\":[\(commands.joined(separator: ","))]}")
        #expect(written.status == 200)
      }
      let lines = LogLines()
      try await RunningBigPeer.with(configuration, logger: lines.logger) { running in
        let summary = try await self.summary(running)
        #expect(summary["subscriptions"]?.list?.count == 256)
        #expect(summary["collectionsNotPulled"] == .int(44))
        let nobody = try APIClient(running.addresses.admin, token: nil)
        let metrics = try await nobody.send("GET", "/metrics").text
        #expect(metrics.contains("bigpeer_collections_not_pulled{application=\"default\"} 44\n"))
        let read = try await running.api().execute("SELECT * FROM c299")
        #expect(read.fields["items"]?.list?.count == 1)
      }
      #expect(lines.all.count { $0.hasPrefix("error Not all collections") } == 1)
    }

    @Test func `what a device subscribes to is pulled up to a bound, for as long as it is connected`()
      async throws
    {
      let configuration = RunningBigPeer.configuration(in: folder)
      let place = try TemporaryDirectory()
      try await RunningBigPeer.with(configuration) { running in
        let address = try #require(running.addresses.devices["default"]?.first)
        let port = try #require(address.split(separator: ":").last.flatMap { Int($0) })
        let key = try DunlinSharedKey(
          String(contentsOfFile: configuration.applications[0].sharedKeyPath, encoding: .utf8))
        let device = try Dunlin(
          path: place.path, identity: .sharedKey(appID: "default", key: key),
          configuration: DunlinConfiguration(mapBytes: 1 << 30))
        let subscriptions = try (0..<40).map {
          try device.sync.registerSubscription(query: "SELECT * FROM made\($0)")
        }
        device.connect(host: "127.0.0.1", port: port)
        try device.startSync()
        try await self.expect(32, running)
        withExtendedLifetime(subscriptions) {}
        try device.close()
        try await self.expect(0, running)
      }
    }

    /// Waits until so many subscriptions are there.
    private func expect(_ count: Int, _ running: RunningBigPeer) async throws {
      var found: Int?
      for _ in 0..<300 where found != count {
        found = try await summary(running)["subscriptions"]?.list?.count
        if found != count { try await Task.sleep(for: .milliseconds(50)) }
      }
      #expect(found == count)
    }
  }
#endif
