import DunlinKit
import TestKit
import Testing

/// A statement that another peer runs, through the outer API.
@Suite(.timeLimit(.minutes(15))) struct RemoteQueryTests {
  let phone: Peer
  let cloud: Peer

  init() throws {
    phone = try Peer("phone")
    cloud = try Peer("cloud")
  }

  /// Connects both, and waits until the phone sees the cloud.
  private func meet() async throws -> DunlinPeer {
    try phone.connect(to: cloud)
    for await graph in phone.dunlin.presence.graphs {
      if let peer = graph.remotePeers.first { return peer }
    }
    throw CancellationError()
  }

  private func rows(_ query: DunlinRemoteQuery) async throws -> [DunlinQueryResultItem] {
    var rows: [DunlinQueryResultItem] = []
    for try await row in query { rows.append(row) }
    return rows
  }

  private func code(_ body: () async throws -> Void) async -> DunlinError.Code? {
    do {
      try await body()
      return nil
    } catch {
      return (error as? DunlinError)?.code
    }
  }

  private func writeTexts(_ count: Int) async throws {
    try await cloud.store.write { tx in
      for number in 0..<count {
        try tx["bikes"].upsert(["_id": number, "text": String(repeating: "x", count: 500)])
      }
    }
  }

  @Test func `rows of what another peer holds come without a subscription, anew each time`() async throws {
    try await cloud.store.write { tx in
      for number in 0..<2_000 { try tx["bikes"].upsert(["_id": number, "km": number]) }
    }
    let peer = try await meet()
    let query = try phone.dunlin.sync.query(
      "SELECT * FROM bikes WHERE km >= :km", on: peer, arguments: ["km": 500])
    #expect(try await rows(query).count == 1_500)
    try await cloud.store["bikes"].upsert(["_id": "new", "km": 9_000, "name": "Ä"])
    let again = try await rows(query)
    #expect(again.count == 1_501)
    #expect(again.first { $0.id == "new" }?["name"].string == "Ä")
    let counted = try await rows(
      phone.dunlin.sync.query("SELECT COUNT(*) AS c FROM bikes", on: peer))
    #expect(counted.map { $0["c"].int } == [2_001])
    #expect(try phone.store["bikes"].findAll().exec().isEmpty)
  }

  @Test func `a loop that is left early asks for no more`() async throws {
    try await writeTexts(5_000)
    let peer = try await meet()
    for _ in 0..<10 {
      var seen = 0
      for try await _ in try phone.dunlin.sync.query("SELECT * FROM bikes", on: peer) {
        seen += 1
        if seen == 3 { break }
      }
      expectEqual(seen, 3)
    }
    // All ten have made room: the peer runs four at a time.
    #expect(try await rows(phone.dunlin.sync.query("SELECT _id FROM bikes LIMIT 9", on: peer)).count == 9)
  }

  @Test func `errors have the codes of queries, behind the rows that came before`() async throws {
    for number in 0..<100 { try await cloud.store["bikes"].upsert(["_id": number]) }
    let peer = try await meet()
    let sync = phone.dunlin.sync
    #expect(await code { _ = try await rows(sync.query("SELECT FROM", on: peer)) } == .syntax)
    #expect(await code { _ = try await rows(sync.query("DELETE FROM bikes", on: peer)) } == .unsupported)
    let unbound = await code { _ = try await rows(sync.query("SELECT * FROM bikes WHERE a = :a", on: peer)) }
    #expect(unbound == .argument)
    var seen = 0
    let limited = await code {
      let limits = DunlinRemoteQueryLimits(rows: 10)
      for try await _ in try sync.query("SELECT * FROM bikes", on: peer, limits: limits) { seen += 1 }
    }
    #expect(limited == .limit && seen == 10)
    #expect(await code { _ = try sync.query(String(repeating: " ", count: 20_000), on: peer) } == .limit)
    let late = await code {
      _ = try await rows(sync.query("SELECT * FROM bikes", on: peer, limits: .init(time: .zero)))
    }
    #expect(late == .timeout)
    #expect(try cloud.store["bikes"].findAll().exec().count == 100)
  }

  @Test func `a cancelled task ends its query`() async throws {
    try await writeTexts(3_000)
    let peer = try await meet()
    let first = Events<Int>()
    let task = Task {
      await code {
        var seen = 0
        for try await _ in try phone.dunlin.sync.query("SELECT * FROM bikes", on: peer) {
          seen += 1
          if seen == 1 { first.send(seen) }
          if Task.isCancelled { throw DunlinError(.cancelled, "seen by the loop") }
          await Task.yield()
        }
      }
    }
    _ = await first.next(1)
    task.cancel()
    #expect([.cancelled, nil].contains(await task.value))
  }

  @Test func `a peer that has gone is unreachable`() async throws {
    let peer = try await meet()
    cloud.dunlin.stopSync()
    for await graph in phone.dunlin.presence.graphs where graph.remotePeers.isEmpty { break }
    let gone = await code { _ = try await rows(phone.dunlin.sync.query("SELECT * FROM bikes", on: peer)) }
    #expect(gone == .unreachable)
  }

  @Test func `a database can keep its documents from the queries of others`() async throws {
    #expect(!DunlinConfiguration().answersRemoteQueries)
    let closed = try Peer("closed", answersRemoteQueries: false)
    try await closed.store["bikes"].upsert(["_id": 1])
    try phone.connect(to: closed)
    var peer: DunlinPeer?
    for await graph in phone.dunlin.presence.graphs {
      peer = graph.remotePeers.first
      if peer != nil { break }
    }
    let other = try #require(peer)
    let denied = await code { _ = try await rows(phone.dunlin.sync.query("SELECT * FROM bikes", on: other)) }
    #expect(denied == .denied)
  }

  @Test func `scopes do not restrict queries`() async throws {
    try await cloud.store.execute(
      query: "ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES = :scopes",
      arguments: ["scopes": ["diary": "LocalPeerOnly"]])
    try await cloud.store["diary"].upsert(["_id": 1])
    let peer = try await meet()
    #expect(try await rows(phone.dunlin.sync.query("SELECT * FROM diary", on: peer)).count == 1)
  }
}
