import DunlinKit
import TestKit
import Testing

/// Observers of equal queries share one, and those whom a write does not concern are not asked.
@Suite(.timeLimit(.minutes(15))) struct ManyObserversTests {
  let peer: Peer
  var store: DunlinStore { peer.store }
  var bikes: DunlinCollection { store["bikes"] }

  init() throws { peer = try Peer() }

  @Test func `observers of equal queries that come and go each see every change`() async throws {
    var observers: [(events: Events<Int>, liveQuery: DunlinLiveQuery)] = []
    for number in 1...60 {
      try await bikes.upsert(["_id": number, "color": "red"])
      if number % 3 == 0 {
        let events = Events<Int>()
        let liveQuery = bikes.find("color == $args.c", args: ["c": "red"]).observeLocal { docs, _ in
          events.send(docs.count)
        }
        observers.append((events, liveQuery))
        // The first result has what was written before, however far behind the observers of the query are.
        await expectEqual(events.next(1), [number])
      }
      if number % 15 == 0 { observers.removeFirst().liveQuery.cancel() }
    }
    try await bikes.upsert(["_id": "last", "color": "red"])
    for (events, liveQuery) in observers {
      var counts = [0]
      while let last = counts.last, last < 61 { counts += await events.next(1) }
      // Several changes may come as one, but none is told twice or out of order.
      expect(zip(counts, counts.dropFirst()).allSatisfy { $0 < $1 })
      liveQuery.cancel()
    }
  }

  @Test func `a write calls those of many observers whose constant it touches`() async throws {
    let events = Events<String>()
    let liveQueries = (0..<1_000).map { (number: Int) in
      bikes.find("state == $args.s", args: ["s": number]).observeLocal { docs, event in
        if !event.isInitial { events.send("\(number): \(docs.count)") }
      }
    }
    let every = bikes.find("state != 1000").observeLocal { docs, event in
      if !event.isInitial { events.send("any: \(docs.count)") }
    }
    try await bikes.upsert(["_id": 1, "state": 7])
    #expect(await events.next(2).sorted() == ["7: 1", "any: 1"])
    try await bikes.upsert(["_id": 2, "state": 8])
    #expect(await events.next(2).sorted() == ["8: 1", "any: 2"])
    await bikes.findByID(1).update { $0?["state"].set(8) }
    #expect(await events.next(3).sorted() == ["7: 0", "8: 2", "any: 2"])
    try await bikes.findByID(2).remove()
    #expect(await events.next(2).sorted() == ["8: 1", "any: 1"])
    for liveQuery in liveQueries + [every] { liveQuery.cancel() }
  }
}
