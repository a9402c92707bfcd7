#if Server
  import BigPeer
  import CRDTCore
  import Foundation
  import TestKit
  import Testing

  /// A server of several applications of which one cannot be opened.
  @Suite struct MissingApplicationTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// Two applications: `default` and `second`.
    private func configuration() -> BigPeerConfiguration {
      var configuration = RunningBigPeer.configuration(in: folder)
      var second = configuration.applications[0]
      second.id = "second"
      second.folder = folder.file("applications/second")
      configuration.applications.append(second)
      return configuration
    }

    /// Puts a store without any content that could be read in an application's place.
    ///
    /// - Parameter id: The application, which is not open.
    /// - Returns: Puts the store back.
    /// - Throws: What the files refuse.
    private func damage(_ id: String) throws -> @Sendable () throws -> Void {
      let (store, kept) = (folder.file("applications/\(id)/store"), folder.file("kept-\(id)"))
      let files = FileManager.default
      try files.moveItem(atPath: store, toPath: kept)
      try files.createDirectory(atPath: store, withIntermediateDirectories: false)
      try Data(repeating: 0x5A, count: 1 << 16).write(to: URL(filePath: "\(store)/data.mdb"))
      return {
        try FileManager.default.removeItem(atPath: store)
        try FileManager.default.moveItem(atPath: kept, toPath: store)
      }
    }

    /// Serves both applications once.
    ///
    /// - Returns: A key of each, as a header, in the applications' order.
    private func keys() async throws -> [String] {
      try await RunningBigPeer.with(configuration()) { running in
        var keys: [String] = []
        for id in ["default", "second"] {
          let api = try await running.api(application: id)
          try await expectEqual(api.execute("INSERT INTO c DOCUMENTS ({'_id': '\(id)'})").status, 200)
          keys.append(try #require(api.headers["Authorization"]))
        }
        return keys
      }
    }

    @Test
    func `a damaged application is missing and named while the others are served, until it is repaired`()
      async throws
    {
      let keys = try await keys()
      let repair = try damage("second")
      let lines = LogLines()
      try await RunningBigPeer.with(configuration(), logger: lines.logger) { running in
        #expect(Set(running.addresses.devices.keys) == ["default"])
        var (first, second) = (
          try APIClient(running.addresses.http, token: nil), try APIClient(running.addresses.http, token: nil)
        )
        (first.headers["Authorization"], second.headers["Authorization"]) = (keys[0], keys[1])
        #expect(try await first.execute("SELECT * FROM c").fields["items"]?.list?.count == 1)
        let refused = try await second.execute("SELECT * FROM c")
        #expect(refused.status == 503)
        #expect(refused.fields["code"] == .string("unavailable"))
        #expect(refused.headers["retry-after"] == "30")
        // A key that no application has may be of the one that is missing.
        let token = "dk1.0123456789abcdef.\(String(repeating: "A", count: 43))"
        let stranger = try APIClient(running.addresses.http, token: token)
        #expect(try await stranger.execute("SELECT * FROM c").status == 503)
        #expect(try await APIClient(running.addresses.http, token: nil).execute("SELECT 1").status == 401)

        let admin = try running.admin()
        let ready = try await admin.send("GET", "/readyz")
        #expect(ready.status == 503)
        #expect(ready.text.contains("second: not served: the application second: "), "\(ready.text)")
        for (id, status) in [("default", 200), ("second", 503), ("third", 404)] {
          try await expectEqual(admin.send("GET", "/readyz?application=\(id)").status, status, "\(id)")
        }
        let listed = try JSON.parse(try await admin.send("GET", "/admin/applications").body)
        let states = try #require(listed["applications"]?.list)
        #expect(states.map { $0["isServed"] } == [.bool(true), .bool(false)])
        #expect(states.last?["id"] == .string("second"))
        #expect(states.last?["reason"]?.text?.contains("the application second: ") == true, "\(states)")
        let one = try JSON.parse(try await admin.send("GET", "/admin/applications/second").body)
        #expect(one == states.last)
        let devices = try await admin.send("GET", "/admin/applications/second/devices")
        #expect(devices.status == 503)
        #expect(devices.text.contains("the application second: "), "\(devices.text)")
        let metrics = try await admin.send("GET", "/metrics").text
        #expect(metrics.contains("bigpeer_application_served{application=\"default\"} 1\n"))
        #expect(metrics.contains("bigpeer_application_served{application=\"second\"} 0\n"))
        #expect(
          lines.all.contains {
            $0.hasPrefix("error An application is not served, and the others are: ")
              && $0.hasSuffix(" application=second")
          }, "\(lines.all)")

        // A reload before the repair changes nothing.
        try await running.bigPeer.reload()
        #expect(try await second.execute("SELECT * FROM c").status == 503)
        #expect(try await first.execute("SELECT * FROM c").status == 200)
        try repair()
        try await running.bigPeer.reload()
        #expect(try await second.execute("SELECT * FROM c").fields["items"]?.list?.count == 1)
        #expect(try await second.execute("INSERT INTO c DOCUMENTS ({'_id': 2})").status == 200)
        #expect(try await admin.send("GET", "/readyz").text == "ready\n")
        let again = try await admin.send("GET", "/metrics").text
        #expect(again.contains("bigpeer_application_served{application=\"second\"} 1\n"))
        #expect(try await stranger.execute("SELECT * FROM c").status == 401)
      }
    }

    @Test func `the listener for monitoring names what is missing and no path, and the admin's says more`()
      async throws
    {
      _ = try await keys()
      let repair = try damage("second")
      var changed = configuration()
      changed.monitor.listen = ListenAddress(host: "127.0.0.1", port: 0)
      let configuration = changed
      try await RunningBigPeer.with(configuration) { running in
        let nobody = try APIClient(running.addresses.monitor, token: nil)
        let told = try await nobody.send("GET", "/readyz")
        #expect(told.status == 503)
        let detail = try JSON.parse(told.body)["detail"]?.text
        #expect(detail == "second: not served")
        let more = try await running.admin().send("GET", "/readyz").text
        #expect(more.contains("second: not served: the application second: "), "\(more)")
        #expect(try await nobody.send("GET", "/readyz?application=default").status == 200)
      }
      try repair()
    }

    @Test func `an application is missing, too, when its directory or the key in it is damaged`() async throws
    {
      let keys = try await keys()
      let (place, kept) = (folder.file("applications/second"), folder.file("kept"))
      try FileManager.default.moveItem(atPath: place, toPath: kept)
      try "no directory".write(toFile: place, atomically: true, encoding: .utf8)
      try await RunningBigPeer.with(configuration()) { running in
        let admin = try running.admin()
        var second = try APIClient(running.addresses.http, token: nil)
        second.headers["Authorization"] = keys[1]
        let ready = try await admin.send("GET", "/readyz")
        #expect(ready.text.contains("second: not served: applications[1].folder: "), "\(ready.text)")
        #expect(try await second.execute("SELECT * FROM c").status == 503)
        try FileManager.default.removeItem(atPath: place)
        try FileManager.default.moveItem(atPath: kept, toPath: place)
        let key = try String(contentsOfFile: "\(place)/shared.key", encoding: .utf8)
        try "no key".write(toFile: "\(place)/shared.key", atomically: false, encoding: .utf8)
        #expect(try await running.bigPeer.reload().missing["second"]?.contains("shared key") == true)
        try key.write(toFile: "\(place)/shared.key", atomically: false, encoding: .utf8)
        #expect(try await running.bigPeer.reload().repaired == ["second"])
        #expect(try await second.execute("SELECT * FROM c").fields["items"]?.list?.count == 1)
        // The key is the one of before.
        #expect(try String(contentsOfFile: "\(place)/shared.key", encoding: .utf8) == key)
      }
    }

    @Test func `a server of which no application can be opened does not start`() async throws {
      _ = try await keys()
      let repair = try [damage("default"), damage("second")]
      let error = await #expect(throws: BigPeerError.self) {
        try await BigPeer(configuration(), logger: quietLogger).run()
      }
      #expect(
        error?.description.hasPrefix("the application default: ") == true, "\(String(describing: error))")
      for body in repair { try body() }
      try await RunningBigPeer.with(configuration()) { _ in }
    }
  }
#endif
