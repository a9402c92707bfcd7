#if Server
  import BigPeer
  import CRDTCore
  import DocStore
  import Facade
  import Foundation
  import TestKit
  import Testing

  /// A configuration that changes while the server runs.
  @Suite struct ReloadTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// The configuration with a further application.
    private func adding(_ id: String, to configuration: BigPeerConfiguration) -> BigPeerConfiguration {
      var changed = configuration
      var application = configuration.applications[0]
      application.id = id
      application.folder = folder.file("applications/\(id)")
      changed.applications.append(application)
      return changed
    }

    @Test func `applications are added, changed and removed while others are served`() async throws {
      let configuration = RunningBigPeer.configuration(in: folder)
      let more = adding("second", to: configuration)
      var changed = more
      changed.applications[1].subscriptions = ["orders"]
      changed.applications[1].limits.sessions = 3
      let another = changed
      try await RunningBigPeer.with(configuration) { running in
        let (first, admin) = (try await running.api(), try running.admin())
        _ = try await first.execute("INSERT INTO c DOCUMENTS ({'_id': 1})")
        let application = try #require(running.bigPeer.applications?["default"])

        let added = try await running.bigPeer.reload(more)
        #expect(added.added == ["second"])
        #expect(added.removed + added.reopened + added.repaired + added.needsRestart == [])
        let second = try await running.api(application: "second")
        #expect(try await second.execute("INSERT INTO c DOCUMENTS ({'_id': 2})").status == 200)

        let reopened = try await running.bigPeer.reload(another)
        #expect(reopened.reopened == ["second"])
        #expect(reopened.added == [])
        // Keys and documents are those of before.
        #expect(try await second.execute("SELECT * FROM c").fields["items"]?.list?.count == 1)
        #expect(running.bigPeer.applications?["second"]?.configuration.limits.sessions == 3)
        #expect(try await running.bigPeer.reload(another).reopened == [])

        let removed = try await running.bigPeer.reload(configuration)
        #expect(removed.removed == ["second"])
        #expect(try await second.execute("SELECT * FROM c").status == 401)
        #expect(try await admin.send("GET", "/admin/applications/second").status == 404)
        #expect(try await admin.send("GET", "/readyz").text == "ready\n")
        #expect(FileManager.default.fileExists(atPath: "\(more.applications[1].folder)/store/data.mdb"))
        #expect(try await running.bigPeer.reload(more).added == ["second"])
        #expect(try await second.execute("SELECT * FROM c").fields["items"]?.list?.count == 1)

        // The other one was served by the same store all the time.
        #expect(running.bigPeer.applications?["default"] === application)
        #expect(try await first.execute("SELECT * FROM c").fields["items"]?.list?.count == 1)
      }
    }

    @Test func `a configuration with mistakes changes nothing, and all of them are named`() async throws {
      let configuration = RunningBigPeer.configuration(in: folder)
      var wrong = adding("second", to: configuration)
      wrong.applications[0].subscriptions = ["SELECT * FROM orders LIMIT 1"]
      wrong.applications[1].feed.webhookAuthorities = folder.file("none")
      wrong.http.limits.bodyBytes = 16
      var moved = configuration
      moved.data = folder.file("elsewhere")
      let (mistaken, elsewhere) = (wrong, moved)
      try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api()
        let error = await #expect(throws: ConfigurationError.self) {
          try await running.bigPeer.reload(mistaken)
        }
        #expect(
          error?.all.map(\.place) == [
            "applications[0].subscribe[0]", "applications[1].feed.webhookAuthorities",
          ],
          "\(String(describing: error))")
        let other = await #expect(throws: ConfigurationError.self) {
          try await running.bigPeer.reload(elsewhere)
        }
        #expect(other?.place == "data")
        #expect(running.bigPeer.applications?.all.map(\.id) == ["default"])
        #expect(try await api.execute("INSERT INTO c DOCUMENTS ({'_id': 1})").status == 200)
        let metrics = try await running.admin().send("GET", "/metrics").text
        #expect(metrics.contains("bigpeer_reloads_total{outcome=\"failed\"} 2\n"))
      }
    }

    @Test func `an application that cannot take its settings leaves all as they were`() async throws {
      let configuration = RunningBigPeer.configuration(in: folder)
      let both = adding("second", to: configuration)
      try await RunningBigPeer.with(both) { running in
        let (first, second) = (try await running.api(), try await running.api(application: "second"))
        let url = try #require(running.addresses.http)
        let taken: ListenAddress = try #require(ListenAddress(String(url.dropFirst("http://".count))))
        // The first would be opened again, the second be removed, and the third finds its port in use.
        var next = configuration
        next.applications[0].name = "another"
        next = adding("third", to: next)
        next.applications[1].devices = [taken]
        let wanted = next
        let error = await #expect(throws: BigPeerError.self) { try await running.bigPeer.reload(wanted) }
        #expect(
          error?.description.contains("Cannot listen on \(taken)") == true, "\(String(describing: error))")
        #expect(running.bigPeer.applications?.all.map(\.id) == ["default", "second"])
        #expect(running.bigPeer.applications?["default"]?.configuration.name == "bigpeer")
        #expect(try await first.execute("INSERT INTO c DOCUMENTS ({'_id': 1})").status == 200)
        #expect(try await second.execute("INSERT INTO c DOCUMENTS ({'_id': 1})").status == 200)
        #expect(try await running.admin().send("GET", "/readyz").text == "ready\n")
      }
    }

    @Test func `limits of the HTTP API change at once, and what needs a restart is named`() async throws {
      let configuration = RunningBigPeer.configuration(in: folder)
      var changed = configuration
      changed.http.limits.bodyBytes = 64
      changed.http.limits.headerCount = 32
      changed.http.listen = nil
      changed.http.origins = ["https://shop.example"]
      changed.stopTime = .seconds(3)
      let next = changed
      try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api()
        let long = "SELECT * FROM c WHERE a = 1 AND b = 2 AND c = 3 AND d = 4 AND e = 5"
        #expect(try await api.execute(long).status == 200)
        let outcome = try await running.bigPeer.reload(next)
        #expect(
          outcome.needsRestart == ["http.listen", "http.origins", "http.limits.headerCount", "stopTime"])
        #expect(outcome.reopened == [])
        #expect(try await api.execute(long).status == 413)
        #expect(try await api.execute("SELECT * FROM c").status == 200)
        // They differ until the restart.
        #expect(try await running.bigPeer.reload(next).needsRestart.count == 4)
        #expect(try await running.bigPeer.reload(configuration).needsRestart == [])
        #expect(try await api.execute(long).status == 200)
      }
    }

    @Test func `the rate of a key follows its limit`() async throws {
      let configuration = RunningBigPeer.configuration(in: folder)
      var changed = configuration
      changed.http.limits.requestsPerSecondByKey = 1
      let next = changed
      try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api()
        func statuses() async throws -> Set<Int> {
          // At once: on a busy machine one after the other may come slowly enough.
          try await withThrowingTaskGroup(of: Int.self) { tasks in
            for _ in 0..<12 { tasks.addTask { try await api.execute("SELECT * FROM c").status } }
            return try await tasks.reduce(into: []) { $0.insert($1) }
          }
        }
        #expect(try await statuses() == [200])
        try await running.bigPeer.reload(next)
        #expect(try await statuses() == [200, 429])
        try await running.bigPeer.reload(configuration)
        #expect(try await statuses() == [200])
      }
    }

    /// Writes a shared key as only its owner can read it.
    private func write(_ key: DunlinSharedKey, to path: String) throws {
      try Data("\(key.text)\n".utf8).write(to: URL(filePath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    @Test func `a replaced shared key is taken by a reload, and one that is the same closes nothing`()
      async throws
    {
      var changed = RunningBigPeer.configuration(in: folder)
      let path = folder.file("application.key")
      let (former, next) = (DunlinSharedKey(), DunlinSharedKey())
      try write(former, to: path)
      changed.applications[0].identity = .sharedKey(file: path)
      let configuration = changed
      let place = try TemporaryDirectory()
      try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api()
        let application = try #require(running.bigPeer.applications?["default"])
        #expect(try await running.bigPeer.reload(configuration).reopened == [])
        #expect(running.bigPeer.applications?["default"] === application)

        try self.write(next, to: path)
        #expect(try await running.bigPeer.reload(configuration).reopened == ["default"])
        #expect(try await running.bigPeer.reload(configuration).reopened == [])
        #expect(try await api.execute("INSERT INTO c DOCUMENTS ({'_id': 1})").status == 200)
        let address = try #require(running.bigPeer.applications?["default"]?.deviceAddresses.first)
        let port = try #require(address.split(separator: ":").last.flatMap { Int($0) })
        let device = try Dunlin(
          path: place.path, identity: .sharedKey(appID: "default", key: next),
          configuration: DunlinConfiguration(mapBytes: 1 << 30))
        let subscription = try device.sync.registerSubscription(query: "SELECT * FROM c")
        device.connect(host: "127.0.0.1", port: port)
        try device.startSync()
        var count = 0
        for _ in 0..<600 where count == 0 {
          count = try await device.store.execute(query: "SELECT * FROM c").items.count
          if count == 0 { try await Task.sleep(for: .milliseconds(50)) }
        }
        #expect(count == 1)
        withExtendedLifetime(subscription) {}
        try device.close()

        // What cannot be read changes nothing.
        try "no key".write(toFile: path, atomically: false, encoding: .utf8)
        await #expect(throws: ConfigurationError.self) { try await running.bigPeer.reload(configuration) }
        #expect(try await api.execute("SELECT * FROM c").status == 200)
      }
    }

    @Test func `a key that the server made may be replaced, and is no other one when it is gone`()
      async throws
    {
      let configuration = RunningBigPeer.configuration(in: folder)
      let path = configuration.applications[0].sharedKeyPath
      try await RunningBigPeer.with(configuration) { running in
        // The start has made it.
        #expect(try await running.bigPeer.reload(configuration).reopened == [])
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try FileManager.default.removeItem(atPath: path)
        #expect(try await running.bigPeer.reload(configuration).reopened == [])
        #expect(!FileManager.default.fileExists(atPath: path))
        try self.write(try DunlinSharedKey(text), to: path)
        #expect(try await running.bigPeer.reload(configuration).reopened == [])
        try self.write(DunlinSharedKey(), to: path)
        #expect(try await running.bigPeer.reload(configuration).reopened == ["default"])
      }
    }

    @Test func `lifetimes of deletions change while the application stays open`() async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.applications[0].limits.tombstoneLifetime = .seconds(60 * 86_400)
      configuration.applications[0].limits.certificateLifetime = .seconds(365 * 86_400)
      var changed = configuration
      changed.applications[0].limits.tombstoneLifetime = .seconds(3 * 3_600)
      changed.applications[0].limits.certificateLifetime = nil
      let (former, next) = (configuration, changed)
      @Sendable func hours(_ dunlin: Dunlin, _ name: String) async throws -> Int? {
        try await dunlin.store.execute(query: "SHOW \(name)").items.first?[name].int
      }
      try await RunningBigPeer.with(former) { running in
        let application = try #require(running.bigPeer.applications?["default"])
        let (dunlin, store) = (application.dunlin, application.parts.store)
        #expect(store.tombstoneLifetime == .seconds(60 * 86_400))
        #expect(store.certificateLifetime == .seconds(365 * 86_400))
        #expect(try await hours(dunlin, "tombstone_ttl_hours") == 60 * 24)
        let outcome = try await running.bigPeer.reload(next)
        #expect(outcome.reopened == [] && outcome.needsRestart == [])
        #expect(running.bigPeer.applications?["default"] === application)
        #expect(application.configuration.limits == next.applications[0].limits)
        #expect(store.tombstoneLifetime == .seconds(3 * 3_600))
        #expect(store.certificateLifetime == nil)
        #expect(try await hours(dunlin, "tombstone_ttl_hours") == 3)
        #expect(try await hours(dunlin, "certificate_ttl_hours") == 0)

        // What ALTER SYSTEM has set goes before the file, until it is reset.
        _ = try await dunlin.store.execute(query: "ALTER SYSTEM SET tombstone_ttl_hours = 7")
        try await running.bigPeer.reload(former)
        #expect(store.tombstoneLifetime == .seconds(7 * 3_600))
        #expect(store.certificateLifetime == .seconds(365 * 86_400))
        _ = try await dunlin.store.execute(query: "ALTER SYSTEM RESET tombstone_ttl_hours")
        #expect(store.tombstoneLifetime == .seconds(60 * 86_400))

        var wrong = former
        wrong.applications[0].limits.tombstoneLifetime = .seconds(5_400)
        wrong.applications[0].limits.certificateLifetime = .zero
        let mistaken = wrong
        let error = await #expect(throws: ConfigurationError.self) {
          try await running.bigPeer.reload(mistaken)
        }
        #expect(
          error?.all.map(\.place) == [
            "applications[0].limits.tombstoneLifetime", "applications[0].limits.certificateLifetime",
          ], "\(String(describing: error))")
        #expect(store.tombstoneLifetime == .seconds(60 * 86_400))
      }
    }

    @Test func `each setting is either taken by a reload, or named as one that needs a restart`() {
      func names(_ value: Any) -> Set<String> { Set(Mirror(reflecting: value).children.compactMap(\.label)) }
      let configuration = BigPeerConfiguration(data: "d")
      // A new setting here stands in `fixedSettings`, or the reloader takes it.
      #expect(
        names(configuration)
          == [
            "data", "applications", "http", "admin", "monitor", "logLevel", "logFormat", "stopTime", "places",
          ])
      #expect(names(configuration.http) == ["listen", "tls", "origins", "proxies", "proxyHeader", "limits"])
      #expect(names(configuration.admin) == ["listen", "hasControlSocket"])
      #expect(names(configuration.monitor) == ["listen"])
    }
  }
#endif
