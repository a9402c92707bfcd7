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
