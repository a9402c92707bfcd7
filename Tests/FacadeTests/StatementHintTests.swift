import DunlinKit
import TestKit
import Testing

/// Likely mistakes in statements and finds: in the results, and in the log.
@Suite struct StatementHintTests {
  private let peer: Peer
  private static let collection = "there is no collection 'ordres' yet; did you mean 'orders'?"
  private static let field =
    "a query asks for the field 'staus', which no document of 'orders' has: did you mean 'status'?"

  init() async throws {
    peer = try Peer()
    try await peer.store["orders"].upsert(["_id": "o1", "status": "open"])
  }

  @Test(arguments: [
    ("SELECT COUNT(*) AS n FROM ordres", collection), ("UPDATE ordres SET status = 'done'", collection),
    ("DELETE FROM ordres WHERE status = 'open'", collection), ("EVICT FROM ordres", collection),
    ("SELECT COUNT(*) AS n FROM orders WHERE staus = 'open'", field),
    ("UPDATE orders SET status = 'done' WHERE staus = 'open'", field),
    ("DELETE FROM orders WHERE staus = 'open'", field), ("EVICT FROM orders WHERE staus = 'open'", field),
  ])
  func `a statement names what does not exist, in its result and once in the log`(
    statement: String, hint: String
  ) async throws {
    let results = [
      try await peer.store.execute(query: statement).hints,
      try await peer.store.transaction { try await $0.execute(query: statement).hints },
    ]
    #expect(results == [[hint], [hint]])
    #expect(peer.log.lines(with: hint).count == 1)
  }

  @Test func `what has no result names it in the log`() async throws {
    let store = peer.store
    _ = try store["ordres"].find("status == 'open'").exec()
    _ = try store["ordres"].findAll().count()
    _ = try await store["ordres"].find("true").remove()
    #expect(peer.log.lines(with: Self.collection).count == 1)
    _ = await store["orders"].find("staus == 'open'").update { _ in }
    _ = try store["orders"].find("staus == 'open'").count()
    #expect(peer.log.lines(with: Self.field).count == 1)
  }

  @Test func `an observer's query names it in the log`() async throws {
    let first = try peer.store.registerObserver(query: "SELECT * FROM ordres") { _ in }
    let second = peer.store["orders"].find("staus == 'open'").observeLocal { _, _ in }
    let third = peer.store["orders"].find("staus == 'open'").observeLocal { _, _ in }
    first.cancel()
    second.stop()
    third.stop()
    #expect(peer.log.lines(with: Self.collection).count == 1)
    #expect(peer.log.lines(with: Self.field).count == 1)
  }
}
