#if Server
  import BigPeer
  import CRDTCore
  import Foundation
  import TestKit
  import Testing

  /// What a full store says, how an administrator makes room, and documents that are too large.
  @Suite struct RoomTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// Writes documents of 50 KB until there is no room.
    ///
    /// - Returns: How many were written, and the refusal's status and code.
    private static func fill(_ api: APIClient) async throws -> (count: Int, status: Int, code: String?) {
      let text = String(repeating: "x", count: 50_000)
      for number in 0..<500 {
        let answer = try await api.execute(
          "INSERT INTO logs DOCUMENTS ({'_id': :n, 'n': :n, 'text': :text})",
          args: "{\"n\":\(number),\"text\":\"\(text)\"}")
        if answer.status != 200 { return (number, answer.status, answer.fields["code"]?.text) }
      }
      return (500, 200, nil)
    }

    private func awaitReady(_ admin: APIClient) async throws -> String {
      var text = ""
      for _ in 0..<500 {
        text = try await admin.send("GET", "/readyz").text
        if text == "ready\n" { break }
        try await Task.sleep(for: .milliseconds(10))
      }
      return text
    }

    @Test func `a full store says so, and the administrator makes room by evicting`() async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.applications[0].limits.mapBytes = 4 << 20
      let lines = LogLines()
      try await RunningBigPeer.with(configuration, logger: lines.logger) { running in
        let (api, admin) = (try await running.api(), try running.admin())
        let path = "/admin/applications/default/evict"
        #expect(try await admin.send("GET", "/readyz").text == "ready\n")
        let full = try await Self.fill(api)
        #expect(full.status == 507)
        #expect(full.code == "full")
        #expect(full.count > 20)
        let ready = try await admin.send("GET", "/readyz")
        #expect(ready.status == 503)
        #expect(ready.text.contains("default: full: "), "\(ready.text)")
        #expect(
          try await admin.send("GET", "/metrics").text.contains(
            "bigpeer_store_full{application=\"default\"} 1\n"))
        let told = try JSON.parse(try await admin.send("GET", "/admin/applications/default").body)
        #expect(told["shortage"]?.text?.contains("full") == true, "\(told)")

        let nobody = try APIClient(running.addresses.admin, token: nil)
        let statement =
          "{\"statement\":\"EVICT FROM logs WHERE n < :n ORDER BY n LIMIT 20\",\"args\":{\"n\":30}}"
        #expect(try await nobody.send("POST", path, statement).status == 401)
        let evicted = try await admin.send("POST", path, statement)
        #expect(evicted.status == 200, "\(evicted.text)")
        #expect(try JSON.parse(evicted.body)["evicted"] == .int(20))
        #expect(try JSON.parse(evicted.body)["isComplete"] == .bool(true))
        let left = try await api.execute("SELECT n FROM logs ORDER BY n LIMIT 1")
        #expect(left.fields["items"]?.list?.first?["n"] == .int(20))
        #expect(
          lines.all.contains {
            $0.hasPrefix("notice Documents were evicted by the administrator")
              && $0.contains("collection=logs")
              && $0.contains("documents=20")
          }, "\(lines.all)")
        #expect(try await self.awaitReady(admin) == "ready\n")
        #expect(try await api.execute("INSERT INTO logs DOCUMENTS ({'_id': 'new'})").status == 200)
        #expect(
          try await admin.send("GET", "/metrics").text.contains(
            "bigpeer_store_full{application=\"default\"} 0\n"))
      }
    }

    @Test(arguments: [
      ("{}", 400), ("{\"statement\":\"SELECT * FROM logs\"}", 400),
      ("{\"statement\":\"EVICT logs WHERE\"}", 422),
      ("{\"statement\":\"EVICT FROM logs RETURNING n\"}", 400), ("{\"statement\":\"DELETE FROM logs\"}", 400),
      ("{\"statement\":\"EVICT FROM logs\",\"where\":1}", 400),
      ("{\"statement\":\"EVICT FROM system:metrics\"}", 422),
      ("{\"statement\":\"EVICT FROM logs WHERE n < :n\",\"args\":[1]}", 400),
    ])
    func `only a statement that evicts is carried out`(body: String, status: Int) async throws {
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        let api = try await running.api()
        _ = try await api.execute("INSERT INTO logs DOCUMENTS ({'_id': 1, 'n': 1})")
        let answer = try await running.admin().send("POST", "/admin/applications/default/evict", body)
        #expect(answer.status == status, "\(answer.text)")
        #expect(try await api.execute("SELECT * FROM logs").fields["items"]?.list?.count == 1)
      }
    }

    @Test func `a document that no device would be sent is refused where the configuration says so`()
      async throws
    {
      let text = String(repeating: "x", count: 5_100_000)
      let insert = "INSERT INTO c DOCUMENTS ({'_id': 'big', 'text': :text})"
      let write = """
        {"commands":[{"method":"upsert","collection":"c","id":"small","value":{"a":1}},
        {"method":"upsert","collection":"c","id":"big","value":{"text":"\(text)"}}]}
        """
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.applications[0].limits.refusesOversize = true
      try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api()
        for refused in [
          try await api.execute(insert, args: "{\"text\":\"\(text)\"}"),
          try await api.post("/api/v4/store/write", write),
        ] {
          expectEqual(refused.status, 422)
          expectEqual(refused.fields["code"], .string("tooLarge"))
          expectEqual(refused.fields["collection"], .string("c"))
          expectEqual(refused.fields["id"], .string("big"))
          expectEqual(refused.fields["limit"], .int(5_000_000))
          let detail = refused.fields["detail"]?.text ?? ""
          expect(detail.contains("\"big\"") && detail.contains("5000000"), "\(detail)")
        }
        // Nothing of a refused write is stored.
        #expect(try await api.execute("SELECT * FROM c").fields["items"]?.list?.isEmpty == true)
        #expect(try await api.execute("INSERT INTO c DOCUMENTS ({'_id': 'small'})").status == 200)
      }
      configuration.applications[0].limits.refusesOversize = false
      try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api()
        let stored = try await api.execute(insert, args: "{\"text\":\"\(text)\"}")
        #expect(stored.status == 200)
        #expect(stored.fields["warnings"]?.list?.isEmpty == false, "\(stored.fields)")
      }
      // One that is above already can be removed.
      configuration.applications[0].limits.refusesOversize = true
      try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api()
        #expect(try await api.execute("UPDATE c SET a = 1 WHERE _id = 'big'").status == 422)
        #expect(try await api.execute("DELETE FROM c WHERE _id = 'big'").status == 200)
      }
    }
  }
#endif
