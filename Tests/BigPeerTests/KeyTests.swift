#if Server
  import BigPeer
  import CRDTCore
  import Foundation
  import TestKit
  import Testing

  @Suite struct KeyTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    @Test func `only a key of the application opens it, for what the key may do`() async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      var second = configuration.applications[0]
      second.id = "second"
      second.folder = folder.file("applications/second")
      configuration.applications.append(second)
      try await RunningBigPeer.with(configuration) { running in
        let nobody = try APIClient(running.addresses.http, token: nil)
        let refused = try await nobody.execute("SELECT * FROM c")
        #expect(refused.status == 401)
        #expect(refused.headers["www-authenticate"] == "Bearer realm=\"dunlin\"")
        for token in ["x", "dk1.0123456789abcdef.\(String(repeating: "A", count: 43))", "dk1..", "Bearer x"] {
          let wrong = try await APIClient(running.addresses.http, token: token).execute("SELECT * FROM c")
          expectEqual(wrong.status, 401)
          expectEqual(wrong.headers["www-authenticate"]?.contains("invalid_token"), true)
        }
        let writer = try await running.api()
        let reader = try await running.api("read")
        let other = try await running.api(application: "second")
        _ = try await writer.execute("INSERT INTO c DOCUMENTS ({'_id': 1})")
        #expect(try await reader.execute("SELECT * FROM c").fields["items"]?.list?.count == 1)
        #expect(try await other.execute("SELECT * FROM c").fields["items"]?.list?.isEmpty == true)
        let denied = try await reader.execute("INSERT INTO c DOCUMENTS ({'_id': 2})")
        #expect(denied.status == 403)
        #expect(denied.fields["code"] == .string("permission"))
        #expect(try await reader.execute("CREATE INDEX i ON c (a)").status == 403)
        let write = "{\"commands\":[{\"method\":\"remove\",\"collection\":\"c\",\"id\":1}]}"
        #expect(try await reader.post("/api/v4/store/write", write).status == 403)
      }
    }

    @Test func `a key holds over a restart, and not when it was revoked or has expired`() async throws {
      let configuration = RunningBigPeer.configuration(in: folder)
      let tokens: [String] = try await RunningBigPeer.with(configuration) { running in
        let (lasting, revoked) = (try await running.api(), try await running.api())
        let short = try await running.api(seconds: 1)
        let admin = try running.admin()
        let id = try #require(revoked.headers["Authorization"]).split(separator: ".")[1]
        #expect(try await admin.send("DELETE", "/admin/applications/default/keys/\(id)").status == 204)
        #expect(try await admin.send("DELETE", "/admin/applications/default/keys/\(id)").status == 404)
        #expect(try await revoked.execute("SELECT * FROM c").status == 401)
        try await Task.sleep(for: .milliseconds(1_100))
        #expect(try await short.execute("SELECT * FROM c").status == 401)
        return [lasting, revoked, short].compactMap { $0.headers["Authorization"] }
      }
      try await RunningBigPeer.with(configuration) { running in
        for (token, status) in zip(tokens, [200, 401, 401]) {
          var api = try APIClient(running.addresses.http, token: nil)
          api.headers["Authorization"] = token
          try await expectEqual(api.execute("SELECT * FROM c").status, status)
        }
      }
      // Nothing of a secret is in the files.
      let secret = try #require(tokens[0].split(separator: ".").last)
      let data = try Data(contentsOf: URL(filePath: folder.file("applications/default/store/data.mdb")))
      #expect(data.range(of: Data(secret.utf8)) == nil)
    }

    /// Makes a key with rights by collection, in the application `default`.
    private static func key(_ running: RunningBigPeer, _ collections: String) async throws -> APIClient {
      let made = try await running.admin().post(
        "/admin/applications/default/keys", "{\"name\":\"some\",\"collections\":\(collections)}")
      #expect(made.status == 201, "\(made.fields)")
      return try APIClient(running.addresses.http, token: try #require(made.fields["token"]?.text))
    }

    @Test func `a key for some collections has no right in others, whatever it asks for`() async throws {
      let configuration = RunningBigPeer.configuration(in: folder)
      let token = try await RunningBigPeer.with(configuration) { running -> String in
        let all = try await running.api()
        for name in ["orders", "menus", "secrets"] {
          _ = try await all.execute("INSERT INTO \(name) DOCUMENTS ({'_id': 'a', 'n': 1})")
        }
        let api = try await Self.key(running, #"{"orders":"write","menus":"read"}"#)
        for (statement, status) in [
          ("SELECT * FROM orders", 200), ("SELECT * FROM menus", 200), ("SELECT * FROM secrets", 403),
          ("SELECT 1 + 1 FROM system:dual", 200), ("SELECT * FROM system:collections", 403),
          ("SELECT * FROM __collections", 403), ("SELECT * FROM system:system_info", 403),
          ("SELECT 1", 200),
          ("SELECT * FROM orders o JOIN secrets s ON o.n = s.n", 403),
          ("SELECT * FROM orders WHERE n IN (SELECT n FROM secrets)", 403),
          ("SELECT * FROM orders WHERE EXISTS (SELECT n FROM secrets)", 403),
          ("SELECT n FROM orders UNION SELECT n FROM secrets", 403),
          ("SELECT n FROM orders UNION SELECT n FROM menus", 200), ("EXPLAIN SELECT * FROM secrets", 403),
          ("PROFILE SELECT * FROM secrets", 403), ("SHOW ALL", 403),
          ("INSERT INTO orders DOCUMENTS ({'_id': 'b'})", 200),
          ("INSERT INTO menus DOCUMENTS ({'_id': 'b'})", 403),
          ("INSERT INTO secrets DOCUMENTS ({'_id': 'b'})", 403), ("UPDATE menus SET n = 2", 403),
          ("INSERT INTO orders SELECT * FROM secrets", 403),
          ("UPDATE orders SET n = 2 WHERE n IN (SELECT n FROM secrets)", 403),
          ("UPDATE orders SET n = 2 WHERE n IN (SELECT n FROM menus)", 200),
          ("DELETE FROM orders WHERE n IN (SELECT n FROM secrets)", 403),
          ("PROFILE DELETE FROM menus", 403), ("CREATE INDEX i ON menus (n)", 403),
          ("CREATE INDEX i ON orders (n)", 200),
        ] { try await expectEqual(api.execute(statement).status, status, "\(statement)") }
        for (path, body, status) in [
          ("store/find", #"{"collection":"menus"}"#, 200), ("store/find", #"{"collection":"secrets"}"#, 403),
          ("store/findbyid", #"{"collection":"menus","id":"a"}"#, 200),
          ("store/findbyid", #"{"collection":"secrets","id":"a"}"#, 403),
          ("store/count", #"{"collection":"menus"}"#, 200),
          ("store/count", #"{"collection":"secrets"}"#, 403),
          ("store/write", #"{"commands":[{"method":"remove","collection":"orders","id":"b"}]}"#, 200),
          ("store/write", #"{"commands":[{"method":"remove","collection":"menus","id":"a"}]}"#, 403),
          (
            "store/write",
            #"{"commands":[{"method":"upsert","collection":"orders","id":"c","value":{}},{"method":"remove","collection":"secrets","query":"n == 1"}]}"#,
            403
          ),
          ("sync/remote_execute", #"{"statement":"SELECT * FROM secrets"}"#, 403),
          ("sync/remote_execute", #"{"statement":"SELECT * FROM menus"}"#, 200),
          ("changes", #"{"statement":"SELECT * FROM secrets"}"#, 403),
          ("changes", #"{"statements":["SELECT * FROM menus","SELECT * FROM secrets"]}"#, 403),
          ("changes/ticket", #"{"statement":"SELECT * FROM secrets"}"#, 403),
          ("changes/ticket", #"{"statement":"SELECT * FROM menus"}"#, 201),
          ("webhooks", #"{"url":"https://example.org","statement":"SELECT * FROM orders"}"#, 403),
        ] {
          try await expectEqual(api.send("POST", "/api/v4/\(path)", body).status, status, "\(path) \(body)")
        }
        for name in ["orders", "secrets"] {
          try await expectEqual(all.send("PUT", "/api/v4/history/\(name)", "{}").status, 200)
        }
        for (method, path, status) in [
          ("GET", "webhooks", 403), ("GET", "history/orders?id=a", 200), ("GET", "history/secrets?id=a", 403),
          ("DELETE", "history/secrets", 403), ("DELETE", "history/menus", 403), ("GET", "history", 200),
        ] { try await expectEqual(api.send(method, "/api/v4/\(path)").status, status, "\(method) \(path)") }
        let kept = try JSON.parse(try await api.send("GET", "/api/v4/history").body)
        #expect(kept["collections"]?.list?.compactMap { $0["collection"]?.text } == ["orders"])
        // Nothing of what was refused is done.
        #expect(try await all.execute("SELECT * FROM secrets").fields["items"]?.list?.count == 1)
        #expect(
          try await all.execute("SELECT * FROM orders WHERE _id = 'c'").fields["items"]?.list?.isEmpty == true
        )
        return try #require(api.headers["Authorization"])
      }
      try await RunningBigPeer.with(configuration) { running in
        var api = try APIClient(running.addresses.http, token: nil)
        api.headers["Authorization"] = token
        #expect(try await api.execute("SELECT * FROM menus").status == 200)
        #expect(try await api.execute("SELECT * FROM secrets").status == 403)
        let reader = try await Self.key(running, #"{"orders":"read"}"#)
        #expect(try await reader.execute("DELETE FROM orders").status == 403)
        let listed = try JSON.parse(
          try await running.admin().send("GET", "/admin/applications/default/keys").body)
        #expect(listed["keys"]?.list?.last?["collections"] == .map(["orders": .string("read")]))
        for body in [
          #"{"name":"x","collections":{}}"#, #"{"name":"x","collections":{"a":"all"}}"#,
          #"{"name":"x","right":"read","collections":{"a":"read"}}"#, #"{"name":"x","collections":["a"]}"#,
        ] {
          let answer = try await running.admin().send("POST", "/admin/applications/default/keys", body)
          expectEqual(answer.status, 400, "\(answer.text)")
        }
      }
    }

    @Test func `a hint names no collection that the key must not know`() async throws {
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        let all = try await running.api()
        for name in ["secrets", "orders"] {
          _ = try await all.execute("INSERT INTO \(name) DOCUMENTS ({'_id': 'a'})")
        }
        let key = try await Self.key(running, #"{"secretz":"write","orderz":"read","orders":"read"}"#)
        for (api, statement, hint) in [
          (all, "SELECT * FROM secretz", "; did you mean 'secrets'?"), (key, "SELECT * FROM secretz", ""),
          (key, "DELETE FROM secretz WHERE n = 1", ""),
          (key, "SELECT * FROM orderz", "; did you mean 'orders'?"),
        ] {
          let answer = try await api.execute(statement)
          let name = statement.contains("secretz") ? "secretz" : "orderz"
          expectEqual(
            answer.fields["warnings"], .array([.string("there is no collection '\(name)' yet\(hint)")]),
            "\(statement)")
        }
      }
    }

    @Test func `a key has two secrets for as long as is said, and then the new one`() async throws {
      let configuration = RunningBigPeer.configuration(in: folder)
      let tokens = try await RunningBigPeer.with(configuration) { running -> [String] in
        let (admin, first) = (try running.admin(), try await running.api())
        let former = try #require(first.headers["Authorization"])
        let id = try #require(former.split(separator: ".").dropFirst().first)
        let path = "/admin/applications/default/keys/\(id)/rotate"
        let header = ["Idempotency-Key": "rotation"]
        let rotated = try await admin.post(path, #"{"seconds":5}"#, headers: header)
        #expect(rotated.status == 201, "\(rotated.fields)")
        let token = try #require(rotated.fields["token"]?.text)
        #expect(token.hasPrefix("dk1.\(id)."))
        #expect(rotated.fields["formerSecretEnds"] != nil)
        // The same request again is the same rotation.
        #expect(try await admin.post(path, #"{"seconds":5}"#, headers: header).fields["token"]?.text == token)
        let second = try APIClient(running.addresses.http, token: token)
        #expect(try await first.execute("SELECT * FROM c").status == 200)
        #expect(try await second.execute("SELECT * FROM c").status == 200)
        let third = try await admin.post(path, #"{"seconds":5}"#)
        #expect(third.status == 409)
        #expect(try await second.execute("INSERT INTO c DOCUMENTS ({'_id': 1})").status == 200)
        for _ in 0..<400 {
          if try await first.execute("SELECT * FROM c").status == 401 { break }
          try await Task.sleep(for: .milliseconds(20))
        }
        #expect(try await first.execute("SELECT * FROM c").status == 401)
        #expect(try await second.execute("SELECT * FROM c").status == 200)
        // A secret that others know ends at once.
        let last = try #require(try await admin.post(path, #"{"seconds":0}"#).fields["token"]?.text)
        #expect(try await second.execute("SELECT * FROM c").status == 401)
        #expect(
          try await APIClient(running.addresses.http, token: last).execute("SELECT * FROM c").status == 200)
        for (path, body, status) in [
          ("/admin/applications/default/keys/0123456789abcdef/rotate", "{}", 404),
          (path, #"{"seconds":-1}"#, 400), (path, #"{"hours":1}"#, 400),
        ] { try await expectEqual(admin.send("POST", path, body).status, status, "\(path) \(body)") }
        return [former, "Bearer \(token)", "Bearer \(last)"]
      }
      try await RunningBigPeer.with(configuration) { running in
        for (token, status) in zip(tokens, [401, 401, 200]) {
          var api = try APIClient(running.addresses.http, token: nil)
          api.headers["Authorization"] = token
          try await expectEqual(api.execute("SELECT * FROM c").status, status)
        }
      }
    }

    @Test func `two rotations at the same time make one new secret`() async throws {
      let configuration = RunningBigPeer.configuration(in: folder).applications[0]
      let application = try await HostedApplication.open(configuration)
      let keys = application.keys
      let (key, _) = try await keys.make(name: "test", right: .read, now: 0, expires: nil)
      let made = await withTaskGroup(of: String?.self) { tasks in
        for _ in 0..<8 {
          tasks.addTask { try? await keys.rotate(key.id, overlap: 0, now: 1)?.token }
        }
        return await tasks.reduce(into: [String]()) { tokens, token in if let token { tokens.append(token) } }
      }
      #expect(!made.isEmpty)
      await application.close()
      let again = try await HostedApplication.open(configuration)
      #expect(again.keys.all == keys.all)
      #expect(again.keys.all.count == 1)
      await again.close()
    }

    @Test func `a revocation that failed can be repeated`() async throws {
      let configuration = RunningBigPeer.configuration(in: folder).applications[0]
      let application = try await HostedApplication.open(configuration)
      let keys = application.keys
      let (key, _) = try await keys.make(name: "test", right: .read, now: 0, expires: nil)
      let task = Task {
        while !Task.isCancelled { await Task.yield() }
        return try await keys.revoke(key.id)
      }
      task.cancel()
      await #expect(throws: (any Error).self) { try await task.value }
      #expect(keys.all.isEmpty)
      #expect(try await keys.revoke(key.id))
      #expect(try await !keys.revoke(key.id))
      await application.close()
      let again = try await HostedApplication.open(configuration)
      #expect(again.keys.all.isEmpty)
      await again.close()
    }

    @Test func `the admin needs the token of the file that only the owner can read`() async throws {
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        let nobody = try APIClient(running.addresses.admin, token: nil)
        #expect(try await nobody.send("GET", "/admin/applications").status == 401)
        #expect(
          try await APIClient(running.addresses.admin, token: "x").send("GET", "/admin/applications").status
            == 401)
        let path = "\(running.configuration.data)/admin.token"
        let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(permissions == 0o600)
      }
    }
  }
#endif
