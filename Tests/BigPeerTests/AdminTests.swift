#if Server
  import BigPeer
  import CRDTCore
  import Facade
  import Foundation
  import TestKit
  import Testing

  @Suite struct AdminTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func json(_ answer: PlainHTTPClient.Answer) throws -> Value { try JSON.parse(answer.body) }

    @Test func `applications and keys are listed, without secrets`() async throws {
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        let api = try await running.api()
        _ = try await api.execute("INSERT INTO orders DOCUMENTS ({'_id': 1})")
        let admin = try running.admin()
        let all = try self.json(try await admin.send("GET", "/admin/applications"))
        let application = try #require(all["applications"]?.list?.first)
        #expect(application["id"] == .string("default"))
        #expect(application["documents"] == .int(1))
        #expect(application["keys"] == .int(1))
        let keys = try await admin.send("GET", "/admin/applications/default/keys")
        #expect(try self.json(keys)["keys"]?.list?.count == 1)
        #expect(!keys.text.contains("hash") && !keys.text.contains("token"))
        #expect(try await admin.send("GET", "/admin/applications/none/keys").status == 404)
        for body in [
          "{}", "{\"name\":\"\"", "{\"name\":\"a\",\"right\":\"all\"}", "{\"name\":\"a\",\"seconds\":0}",
          "{\"name\":\"a\\nb\"}", "{\"name\":\"a\\u0085b\"}", "{\"name\":\"a\\u202Eb\"}",
        ] {
          try await expectEqual(admin.send("POST", "/admin/applications/default/keys", body).status, 400)
        }
      }
    }

    @Test func `a key that is made twice with one Idempotency-Key is one`() async throws {
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        let admin = try running.admin()
        let path = "/admin/applications/default/keys"
        let header = ["Idempotency-Key": "one"]
        let first = try await admin.send("POST", path, "{\"name\":\"a\"}", headers: header)
        let second = try await admin.send("POST", path, "{\"name\":\"a\"}", headers: header)
        #expect(first.status == 201 && second.status == 201)
        #expect(try self.json(first)["token"] != nil)
        #expect(first.text == second.text)
        #expect(try self.json(try await admin.send("GET", path))["keys"]?.list?.count == 1)
        let other = try await admin.send("POST", path, "{\"name\":\"b\"}", headers: header)
        #expect(other.status == 422)
      }
    }

    @Test func `a device is listed with its lag, and what it subscribes to is pulled from others`()
      async throws
    {
      let configuration = RunningBigPeer.configuration(in: folder)
      let places = [try TemporaryDirectory(), try TemporaryDirectory()]
      try await RunningBigPeer.with(configuration) { running in
        let address = try #require(running.addresses.devices["default"]?.first)
        let port = try #require(address.split(separator: ":").last.flatMap { Int($0) })
        let key = try DunlinSharedKey(
          String(contentsOfFile: configuration.applications[0].sharedKeyPath, encoding: .utf8))
        let devices = try places.map { place in
          try Dunlin(
            path: place.path, identity: .sharedKey(appID: "default", key: key),
            configuration: DunlinConfiguration(peerName: "till", mapBytes: 1 << 30))
        }
        let subscription = try devices[1].sync.registerSubscription(
          query: "SELECT * FROM orders WHERE price > 5")
        _ = try await devices[0].store.execute(
          query: "INSERT INTO orders DOCUMENTS ({'_id': 'a', 'price': 7})")
        for device in devices {
          device.connect(host: "127.0.0.1", port: port)
          try device.startSync()
        }
        var count = 0
        for _ in 0..<400 where count == 0 {
          count = try await devices[1].store.execute(query: "SELECT * FROM orders").items.count
          if count == 0 { try await Task.sleep(for: .milliseconds(50)) }
        }
        #expect(count == 1)
        let listed = try self.json(
          try await running.admin().send("GET", "/admin/applications/default/devices"))
        let list = try #require(listed["devices"]?.list)
        #expect(list.count == 2)
        #expect(list.allSatisfy { $0["name"] == .string("till") && $0["key"]?.text?.count == 66 })
        #expect(list.allSatisfy { $0["version"] == .string(Dunlin.version) }, "\(list)")
        subscription.cancel()
        for device in devices { try device.close() }
      }
    }

    @Test func `documents are erased, and the log does not name them`() async throws {
      let lines = LogLines()
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder), logger: lines.logger) {
        running in
        let api = try await running.api()
        _ = try await api.execute("INSERT INTO people DOCUMENTS ({'_id': 'p-secret', 'name': 'canary'})")
        let admin = try running.admin()
        let path = "/admin/applications/default/erase"
        let body = #"{"collection":"people","ids":["p-secret","p-other"]}"#
        let answer = try self.json(try await admin.send("POST", path, body))
        #expect(answer["found"] == .int(1) && answer["unknown"] == .int(1), "\(answer)")
        #expect(answer["unconfirmed"] == .array([]))
        let again = try self.json(try await admin.send("POST", path, body))
        #expect(again["found"] == .int(0))
        for wrong in [
          #"{"collection":"people"}"#, #"{"collection":"people","ids":[]}"#, #"{"ids":["a"]}"#,
        ] {
          try await expectEqual(admin.send("POST", path, wrong).status, 400, "\(wrong)")
        }
        for wrong in [
          #"{"collection":"people","ids":[1.5]}"#, #"{"collection":"__people","ids":["a"]}"#,
        ] {
          try await expectEqual(admin.send("POST", path, wrong).status, 422, "\(wrong)")
        }
        let nobody = try APIClient(running.addresses.admin, token: nil)
        #expect(try await nobody.send("POST", path, body).status == 401)
      }
      #expect(lines.all.contains { $0.contains("Documents were erased") })
      #expect(!lines.all.contains { $0.contains("p-secret") })
    }

    @Test func `a backup is made while it serves, and opens as a database`() async throws {
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        let api = try await running.api()
        _ = try await api.execute("INSERT INTO orders DOCUMENTS ({'_id': 1})")
        let admin = try running.admin()
        let target = "\(running.configuration.data)/copy"
        let path = "/admin/applications/default"
        #expect(try await admin.send("POST", "\(path)/backup", "{\"directory\":\"relative\"}").status == 400)
        #expect(try await admin.send("POST", "\(path)/backup", "{}").status == 400)
        #expect(try await admin.send("POST", "\(path)/backup", "{\"directory\":\"\(target)\"}").status == 200)
        #expect(try await admin.send("POST", "\(path)/backup", "{\"directory\":\"\(target)\"}").status == 409)
        let copy = try Dunlin(
          path: target, identity: .unsafeDevelopment(appID: "default"),
          configuration: DunlinConfiguration(mapBytes: 1 << 30))
        #expect(try await copy.store.execute(query: "SELECT * FROM orders").items.count == 1)
        try copy.close()
        let report = try self.json(try await admin.send("POST", "\(path)/verify"))
        #expect(report["isIntact"] == .bool(true))
      }
    }

    @Test func `what the server fails with is in its log, and HEAD has no body`() async throws {
      let lines = LogLines()
      let target = folder.file("copy")
      // A file stands where the copy is made.
      try "x".write(toFile: "\(target).partial", atomically: true, encoding: .utf8)
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder), logger: lines.logger) {
        running in
        let failed = try await running.admin().send(
          "POST", "/admin/applications/default/backup", "{\"directory\":\"\(target)\"}")
        #expect(failed.status == 500, "\(failed.text)")
        let nobody = try APIClient(running.addresses.admin, token: nil)
        let client = nobody.client
        for (path, status) in [("/healthz", "200 OK"), ("/none", "404 Not Found")] {
          let text = try await offTasks {
            let connection = try client.connect()
            let head = "HEAD \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            connection.write(Array(head.utf8))
            return String(decoding: try connection.readAll(atMost: 1 << 16), as: UTF8.self)
          }
          expect(text.hasPrefix("HTTP/1.1 \(status)\r\n") && text.hasSuffix("\r\n\r\n"), "\(text)")
        }
      }
      let errors = lines.all.filter { $0.hasPrefix("error ") }
      #expect(errors.count == 1)
      #expect(errors.first?.contains("POST /admin/applications/") == true)
      #expect(errors.first?.contains(" error=") == true, "\(errors)")
    }

    @Test func `the admin's address stands beside the token while it runs, for its owner alone`()
      async throws
    {
      let configuration = RunningBigPeer.configuration(in: folder)
      let file = "\(configuration.data)/\(AdminAddress.file)"
      // That of a server that was killed.
      try "127.0.0.1:1\n".write(toFile: file, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
      #expect(AdminAddress.read(in: folder.path) == nil, "others can read it")
      try await RunningBigPeer.with(configuration) { running in
        let url = try #require(running.addresses.admin)
        #expect(AdminAddress.read(in: configuration.data)?.description == String(url.dropFirst(7)))
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
      }
      #expect(!FileManager.default.fileExists(atPath: file))
      // A token is sent to this machine alone.
      for text in ["10.0.0.1:80", "nowhere", "", String(repeating: "1", count: 300)] {
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        expect(AdminAddress.read(in: folder.path) == nil, "\(text)")
      }
    }

    @Test func `a listener for monitoring has health, readiness and figures, and nothing else`()
      async throws
    {
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.monitor.listen = ListenAddress(host: "0.0.0.0", port: 0)
      configuration.admin.listen = nil
      try await RunningBigPeer.with(configuration) { running in
        let url = try #require(running.addresses.monitor)
        #expect("\(running.addresses)".contains("monitor at \(url)"))
        let port = try #require(url.split(separator: ":").last.map { String($0) })
        let nobody = try APIClient("http://127.0.0.1:\(port)", token: nil)
        #expect(try await nobody.send("GET", "/healthz").text == "ok\n")
        #expect(try await nobody.send("GET", "/readyz").text == "ready\n")
        #expect(try await nobody.send("GET", "/metrics").text.contains("bigpeer_documents"))
        for path in ["/admin/applications", "/admin/reload", "/api/openapi.json", "/"] {
          for method in ["GET", "POST"] {
            try await expectEqual(nobody.send(method, path).status, 404, "\(method) \(path)")
          }
        }
        #expect(try await nobody.send("POST", "/metrics").status == 405)
        // A supervisor asks by any name, and one address does not ask for more than the server can do.
        let text = try await offTasks {
          let connection = try nobody.client.connect()
          let head = "GET /metrics HTTP/1.1\r\nHost: bigpeer.example\r\n"
          let last = "\(head)Connection: close\r\n\r\n"
          connection.write(Array((String(repeating: "\(head)\r\n", count: 80) + last).utf8))
          return String(decoding: try connection.readAll(atMost: 64 << 20), as: UTF8.self)
        }
        #expect(text.hasPrefix("HTTP/1.1 200 OK"))
        #expect(text.contains("HTTP/1.1 429 Too Many Requests"))
        #expect(try await nobody.send("GET", "/healthz").status == 200)
      }
      // Where it is not configured there is none.
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        #expect(running.addresses.monitor == nil)
      }
    }

    @Test func `health, readiness and figures need no token`() async throws {
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        let api = try await running.api()
        _ = try await api.execute("INSERT INTO orders DOCUMENTS ({'_id': 1})")
        _ = try await api.execute("SELEC")
        _ = try await api.send("GET", "/api/secret\"}")
        let nobody = try APIClient(running.addresses.admin, token: nil)
        #expect(try await nobody.send("GET", "/healthz").text == "ok\n")
        #expect(try await nobody.send("GET", "/readyz").text == "ready\n")
        let metrics = try await nobody.send("GET", "/metrics")
        #expect(metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        let execute = "method=\"POST\",route=\"/api/v4/store/execute\""
        #expect(metrics.text.contains("bigpeer_http_requests_total{\(execute),status=\"200\"} 1\n"))
        #expect(metrics.text.contains("bigpeer_http_requests_total{\(execute),status=\"422\"} 1\n"))
        #expect(metrics.text.contains("bigpeer_documents{application=\"default\"} 1\n"))
        #expect(metrics.text.contains("bigpeer_devices{application=\"default\"} 0\n"))
        for state in ["active", "retrying", "paused"] {
          expect(metrics.text.contains("bigpeer_webhooks{application=\"default\",state=\"\(state)\"} 0\n"))
        }
        // Without a login endpoint there are no figures of one.
        #expect(!metrics.text.contains("bigpeer_login"))
        #expect(!metrics.text.contains("secret"))
        for line in metrics.text.split(separator: "\n") where !line.hasPrefix("#") {
          expect(Double(line.split(separator: " ").last ?? "") != nil, "\(line)")
        }
      }
    }
  }
#endif
