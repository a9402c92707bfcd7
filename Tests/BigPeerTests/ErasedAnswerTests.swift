#if Server
  import CRDTCore
  import DocStore
  import Foundation
  import HTTPTypes
  import TestKit
  import Testing

  @testable import BigPeer

  /// Answers that are kept for repeated requests give nothing of erased documents.
  @Suite struct ErasedAnswerTests {
    private static let canary = "a canary that must not sing"
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private static func insert(_ id: String) -> String {
      "INSERT INTO people DOCUMENTS ({'_id': '\(id)', 'name': '\(canary) \(id)'}) RETURNING *"
    }

    private typealias Answer = (status: Int, fields: [TextKey: Value], headers: [String: String])

    private func send(_ statement: String, _ api: APIClient) async throws -> Answer {
      try await api.execute(statement, headers: ["Idempotency-Key": "k"])
    }

    private func expectErased(_ answer: Answer, as first: Answer) {
      expectEqual(answer.status, 200)
      expectEqual(answer.headers["idempotency-replayed"], "true")
      expectEqual(answer.fields["contentErased"], .bool(true))
      expectEqual(answer.fields["items"], .array([]))
      for member in ["transactionId", "queryType", "mutatedDocumentIds", "warnings"] as [TextKey] {
        expectEqual(answer.fields[member], first.fields[member], "\(member)")
      }
    }

    private var store: String { folder.file("applications/default/store") }

    /// Compacts the store of a server that has ended, and searches its file for the canary of a document.
    private func holdsCanary(_ id: String) throws -> Bool {
      let store = try Store.open(at: self.store)
      try store.compact()
      store.close()
      let file = try Data(contentsOf: URL(filePath: "\(self.store)/data.mdb"))
      return file.range(of: Data("\(Self.canary) \(id)".utf8)) != nil
    }

    @Test(arguments: [false, true])
    func `a repeated request gets no content of an erased document, and is not done again`(
      isByAdmin: Bool
    ) async throws {
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        let api = try await running.api()
        let other = try await running.api()
        let first = try await self.send(Self.insert("p1"), api)
        #expect(first.status == 200)
        #expect(first.fields["items"]?.list?.first?["name"]?.text == "\(Self.canary) p1")
        let kept = try await self.send(Self.insert("p2"), other)
        let again = try await self.send(Self.insert("p1"), api)
        #expect(again.fields == first.fields)
        if isByAdmin {
          let body = #"{"collection":"people","ids":["p1"]}"#
          let erased = try await running.admin().send("POST", "/admin/applications/default/erase", body)
          #expect(erased.status == 200)
        } else {
          let command = #"{"commands":[{"method":"erase","collection":"people","id":"p1"}]}"#
          let erase = ["Idempotency-Key": "erase"]
          let erased = try await api.post("/api/v4/store/write", command, headers: erase)
          #expect(erased.status == 200)
          // Its own answer has no content, and is kept.
          let repeated = try await api.post("/api/v4/store/write", command, headers: erase)
          #expect(repeated.headers["idempotency-replayed"] == "true")
          #expect(repeated.fields == erased.fields)
        }
        self.expectErased(try await self.send(Self.insert("p1"), api), as: first)
        let count = try await api.post("/api/v4/store/count", #"{"collection":"people"}"#)
        #expect(count.fields["count"] == .int(1))
        // Another request with the key is still told from it.
        #expect(try await self.send(Self.insert("p3"), api).fields["code"] == .string("idempotencyKey"))
        let stays = try await self.send(Self.insert("p2"), other)
        #expect(stays.headers["idempotency-replayed"] == "true")
        #expect(stays.fields == kept.fields)
      }
      #expect(try !holdsCanary("p1"))
      #expect(try holdsCanary("p2"))
    }

    /// Each statement returns content of the document `p1`, which is erased afterwards.
    @Test(arguments: [
      "UPDATE people SET age = 7 WHERE _id = 'p1' RETURNING name",
      "DELETE FROM people WHERE _id = 'p1' RETURNING *",
      "UPDATE people SET age = 7 RETURNING max(name) AS most",
      "UPDATE people SET age = 7 WHERE _id IN (SELECT _id FROM people) RETURNING name",
    ])
    func `so does what other statements returned, also after a restart and an erasure meanwhile`(
      statement: String
    ) async throws {
      let configuration = RunningBigPeer.configuration(in: folder)
      let (first, token): (Answer, String) = try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api()
        _ = try await api.execute(Self.insert("p1"))
        let first = try await self.send(statement, api)
        return (first, api.headers["Authorization"] ?? "")
      }
      #expect(first.status == 200, "\(first.fields)")
      #expect(first.fields["items"]?.list?.count == 1)
      #expect(try holdsCanary("p1"))
      // As the command line tool does while no server runs.
      let store = try Store.open(at: self.store)
      try await store.write { _ = try $0.erase(DocumentID("p1"), in: "people") }
      store.close()
      #expect(try !holdsCanary("p1"))
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        var api = try APIClient(running.addresses.http, token: nil)
        api.headers["Authorization"] = token
        self.expectErased(try await self.send(statement, api), as: first)
      }
    }

    @Test func `beyond a thousand documents the erasure of any in the collection removes the rows`()
      async throws
    {
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        let api = try await running.api()
        let documents = (0..<1_001).map { "{\"_id\":\($0),\"n\":0}" }.joined(separator: ",")
        _ = try await api.execute("INSERT INTO cars DOCUMENTS (:d)", args: "{\"d\":[\(documents)]}")
        let statement = "UPDATE cars SET n = 1 RETURNING n"
        let first = try await self.send(statement, api)
        #expect(first.fields["items"]?.list?.count == 1_001)
        let admin = try running.admin()
        let path = "/admin/applications/default/erase"
        _ = try await admin.send("POST", path, #"{"collection":"trucks","ids":[1]}"#)
        let again = try await self.send(statement, api)
        #expect(again.fields == first.fields)
        _ = try await admin.send("POST", path, #"{"collection":"cars","ids":[5000]}"#)
        self.expectErased(try await self.send(statement, api), as: first)
      }
    }

    // MARK: - What is stored

    private static func key(_ text: String) throws -> IdempotencyKey {
      var headers = HTTPFields()
      headers[try #require(HTTPField.Name("Idempotency-Key"))] = text
      return try #require(
        try IdempotencyKey.read(headers, of: "owner", path: "/", body: [], within: HTTPLimits()))
    }

    @Test func `an answer with content leaves nothing when it expires, and a key can be used again`() throws {
      let store = try Store.open(at: folder.file("store"))
      defer { store.close() }
      let document = HashedDocument(collection: "people", id: try DocumentID("p1"))
      let (key, other) = (try Self.key("a"), try Self.key("b"))
      let expiry = IdempotencyKey.lifetime
      func keep(_ answer: UInt8, at now: Int64) throws {
        let content = IdempotencyKey.Content(documents: [document], rest: [0])
        try store.write { try key.keep([answer], content, in: $0, at: now) }
      }
      func answer(at now: Int64) throws -> [UInt8]? { try store.write { try key.answer(in: $0, at: now) }.0 }
      func counts() throws -> [Int] {
        try store.read { transaction in
          try ["http.idempotency", "http.idempotency.content", "store.contents"].map {
            try transaction.sideEntryCount(SideTable($0))
          }
        }
      }
      try keep(1, at: 0)
      #expect(try answer(at: 1) == [1])
      #expect(try counts() == [1, 1, 1])
      // It has expired, and its key is used again before it is removed.
      #expect(try answer(at: expiry) == nil)
      try keep(2, at: expiry)
      #expect(try answer(at: expiry + 1) == [2])
      try store.write { try other.keep([3], in: $0, at: expiry + 1) }
      #expect(try counts() == [2, 1, 1])
      #expect(try answer(at: expiry + 1) == [2])
      try store.write { _ = try $0.erase(DocumentID("p1"), in: "people") }
      #expect(try answer(at: expiry + 1) == [0])
      #expect(try counts() == [2, 0, 0])
      try store.write { try other.keep([4], in: $0, at: 2 * expiry + 2) }
      #expect(try counts() == [1, 0, 0])
      #expect(try store.verify().damages == [])
    }
  }
#endif
