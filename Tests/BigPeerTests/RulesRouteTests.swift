#if Server
  import BigPeer
  import CRDTCore
  import Foundation
  import TestKit
  import Testing

  /// Access rules that the administrator tries on a store while it is served.
  @Suite(.timeLimit(.minutes(15))) struct RulesRouteTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private static let path = "/admin/applications/default/rules"

    /// Rules that allow to read the orders with a condition.
    private static func rules(_ condition: String) -> String {
      let queries = "{\"orders\": [\"\(condition)\"]}"
      return
        "{\"read\": {\"everything\": false, \"queriesByCollection\": \(queries)}, \"write\": {\"everything\": true}}"
    }

    /// The last line of an answer.
    private func result(_ text: String) throws -> Value {
      try JSON.parse(String(try #require(text.split(separator: "\n").last)))
    }

    /// A command that writes an order.
    private static func order(_ number: Int) -> String {
      let owner = number.isMultiple(of: 4) ? "ann" : "bob"
      return
        "{\"method\": \"upsert\", \"collection\": \"orders\", \"id\": \(number), \"value\": {\"owner\": \"\(owner)\"}}"
    }

    @Test func `rules are tried and compared on more documents than a page has`() async throws {
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        let (api, admin) = (try await running.api(), try running.admin())
        let commands = (0..<1_300).map { Self.order($0) }.joined(separator: ",")
        let written = try await api.post("/api/v4/store/write", "{\"commands\": [\(commands)]}")
        #expect(written.status == 200)
        // A name of a field that comes late, and a document that is no more.
        _ = try await api.execute("UPDATE orders SET late = true WHERE _id = 1299")
        _ = try await api.execute("DELETE FROM orders WHERE _id = 0")

        let own = Self.rules("owner = :user.id")
        let tried = try await admin.send(
          "POST", "\(Self.path)/try", "{\"rules\": \(own), \"user\": \"ann\"}")
        #expect(tried.status == 200, "\(tried.text)")
        #expect(tried.headers["content-type"] == "application/x-ndjson")
        let result = try self.result(tried.text)
        #expect(result["isComplete"] == .bool(true), "\(tried.text)")
        #expect(result["documents"] == .int(1_299) && result["of"] == .int(1_299), "\(tried.text)")
        let orders = try #require(result["collections"]?.list?.first)
        #expect(orders["collection"] == .string("orders") && orders["documents"] == .int(1_299))
        #expect(orders["readable"] == .int(324) && orders["writable"] == .int(1_299), "\(orders)")
        #expect(orders["unwritable"] == .array([]) && orders["unreadable"]?.list?.count == 10)
        let reasons = orders["unreadable"]?.list?.first?["reasons"]
        #expect(reasons == .array([.string("owner = 'ann'")]))

        let late = Self.rules("owner = :user.id OR late = true")
        let compared = try await admin.send(
          "POST", "\(Self.path)/diff",
          "{\"old\": \(own), \"new\": \(late), \"users\": [{\"user\": \"ann\", \"claims\": {}}, {\"user\": \"bob\"}], \"seconds\": 30}"
        )
        let users = try #require(try self.result(compared.text)["users"]?.list)
        #expect(users.map { $0["user"] } == [.string("ann"), .string("bob")])
        let gained = users.first?["collections"]?.list?.first?["readGained"]
        #expect(gained == .map(["documents": .int(1), "ids": .array([.int(1_299)])]), "\(compared.text)")
        #expect(users.last?["collections"] == .array([]))
      }
    }

    @Test func `what cannot be tried is refused with its place, and needs the token`() async throws {
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        let admin = try running.admin()
        let good = Self.rules("true")
        let both = "\"old\": \(good), \"new\": \(good)"
        let wrong: [(what: String, members: String, status: Int, part: String)] = [
          ("try", "", 400, "rules is missing"), ("try", "\"rules\": 7", 400, "rules"),
          ("try", "\"rules\": {}", 422, "rules: "),
          ("try", "\"rules\": \(Self.rules("owner ="))", 422, "read.queriesByCollection.orders[0]"),
          ("try", "\"rules\": \(good), \"claims\": {\"a\": {}}", 422, "claims.a"),
          ("try", "\"rules\": \(good), \"user\": 7", 400, "user"),
          ("try", "\"rules\": \(good), \"seconds\": 0", 400, "seconds"),
          ("try", "\"rules\": \(good), \"more\": 1", 400, "more"), ("diff", both, 400, "users"),
          ("diff", "\"old\": \(good), \"users\": [{}]", 400, "new is missing"),
          ("diff", "\(both), \"users\": []", 400, "users"),
          ("diff", "\(both), \"users\": [{\"id\": \"ann\"}]", 400, "users[0].id"),
        ]
        for (what, members, status, part) in wrong {
          let answer = try await admin.send("POST", "\(Self.path)/\(what)", "{\(members)}")
          expectEqual(answer.status, status, "\(what) \(members): \(answer.text)")
          expect(answer.text.contains(part), "\(what) \(members): \(answer.text)")
        }
        let nobody = try APIClient(running.addresses.admin, token: nil)
        let body = "{\"rules\": \(good)}"
        #expect(try await nobody.send("POST", "\(Self.path)/try", body).status == 401)
        // Neither what was refused nor what is done keeps the turn.
        #expect(try await admin.send("POST", "\(Self.path)/try", body).status == 200)
        #expect(try await admin.send("POST", "\(Self.path)/try", body).status == 200)
      }
    }
  }
#endif
