import DunlinKit
import Logging
import Synchronization
import TestKit
import Testing

/// Observers see every change, in order and exactly, however slow they are.
@Suite(.timeLimit(.minutes(15))) struct ObservationTests {
  let peer: Peer
  var store: DunlinStore { peer.store }
  var bikes: DunlinCollection { store["bikes"] }

  init() throws { peer = try Peer() }

  /// The items that a diff makes of the previous ones.
  private func applying(_ diff: DunlinDiff) throws -> [DunlinDocumentID?] {
    let old = diff.oldItems.map(\.id)
    let leaving = Set(diff.deletions + diff.moves.map(\.from))
    var result = old.indices.filter { !leaving.contains($0) }.map { old[$0] }
    let arriving =
      diff.insertions.map { ($0, diff.items[$0].id) } + diff.moves.map { ($0.to, old[$0.from]) }
    for (index, id) in arriving.sorted(by: { $0.0 < $1.0 }) { result.insert(id, at: index) }
    return result
  }

  @Test(arguments: [1, 2, 3]) func `diffs are exact for an iterator that is slow`(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    var previous: [DunlinQueryResultItem] = []
    var hasBegun = false
    var iterator =
      try store.changes(of: "SELECT * FROM bikes WHERE km < 80 ORDER BY km LIMIT 12").makeAsyncIterator()
    for round in 0..<60 {
      for _ in 0..<(1 + random.int(below: 5)) {
        let id = random.int(below: 25)
        switch random.int(below: 4) {
        case 0: try await bikes.findByID(DunlinDocumentID(value: id)).remove()
        default: try await bikes.upsert(["_id": id, "km": random.int(below: 100)])
        }
      }
      // What never matches marks the end of the round.
      try await bikes.upsert(["_id": "end", "km": -1, "round": round])
      while let diff = await iterator.next() {
        expectEqual(diff.oldItems.map { $0.jsonString() }, previous.map { $0.jsonString() })
        expectEqual(diff.isInitial, !hasBegun)
        hasBegun = true
        try expectEqual(applying(diff), diff.items.map(\.id))
        let before = Dictionary(
          uniqueKeysWithValues: diff.oldItems.compactMap { item in item.id.map { ($0, item) } })
        for (index, item) in diff.items.enumerated() where !diff.insertions.contains(index) {
          let old = try #require(item.id.flatMap { before[$0] })
          expectEqual(old.jsonString() != item.jsonString(), diff.updates.contains(index))
        }
        previous = diff.items
        if diff.items.first?["round"].int == round { break }
      }
    }
    let result = try await store.execute(query: "SELECT * FROM bikes WHERE km < 80 ORDER BY km LIMIT 12")
    #expect(previous.map { $0.jsonString() } == result.items.map { $0.jsonString() })
  }

  @Test func `what is written after the observer was registered is a change`() async throws {
    for round in 0..<30 {
      let events = Events<Int>()
      let liveQuery = store["r\(round)"].findAll().observeLocal { docs, _ in events.send(docs.count) }
      for number in 1...3 { try await store["r\(round)"].upsert(["_id": number]) }
      await expectEqual(events.next(4), [0, 1, 2, 3])
      liveQuery.cancel()
    }
  }

  @Test func `every commit calls a live query once, in order`() async throws {
    let counts = Events<Int>()
    let liveQuery = bikes.findAll().observeLocal { docs, event in
      counts.send(event.isInitial ? -1 : docs.count)
    }
    #expect(await counts.next(1) == [-1])
    for number in 1...10 {
      try await bikes.upsert(["_id": number])
      await expectEqual(counts.next(1), [number])
    }
    liveQuery.stop()
  }

  @Test func `changes during a slow call are put together, and none is lost`() async throws {
    let calls = Events<(count: Int, insertions: Int, signal: DunlinSignalNext)>()
    let liveQuery = bikes.findAll().observeLocalWithNextSignal { docs, event, signalNext in
      var insertions = 0
      if case .update(let update) = event { insertions = update.insertions.count }
      calls.send((docs.count, insertions, signalNext))
    }
    let first = try #require(await calls.next(1).first)
    #expect(first.count == 0)
    for number in 1...100 { try await bikes.upsert(["_id": number]) }
    first.signal()
    first.signal()
    var inserted = 0
    var deliveries = 0
    while inserted < 100 {
      let call = try #require(await calls.next(1).first)
      inserted += call.insertions
      deliveries += 1
      expectEqual(call.count, inserted)
      call.signal()
    }
    #expect(deliveries <= 20)
    liveQuery.cancel()
  }

  @Test(arguments: [1, 2, 3]) func `the documents of each call come exactly from those before`(
    seed: UInt64
  ) async throws {
    var random = SeededGenerator(seed: seed)
    let calls = Events<(documents: [String], event: DunlinLiveQueryEvent)>()
    let found = bikes.find("km < 80").sort("km").sort("_id").limit(12)
    let liveQuery = found.observeLocal { calls.send(($0.map { $0.jsonString() }, $1)) }
    var previous = try #require(await calls.next(1).first).documents
    for _ in 0..<150 {
      let id = random.int(below: 25)
      if random.int(below: 4) == 0 {
        try await bikes.findByID(DunlinDocumentID(value: id)).remove()
      } else {
        try await bikes.upsert(["_id": id, "km": random.int(below: 100)])
      }
      let expected = try found.exec().map { $0.jsonString() }
      guard expected != previous else { continue }
      let call = try #require(await calls.next(1).first)
      expectEqual(call.documents, expected)
      guard case .update(let update) = call.event else { throw CancellationError() }
      expectEqual(update.oldDocuments.map { $0.jsonString() }, previous)
      previous = expected
    }
    liveQuery.cancel()
  }

  @Test func `a live query that is cancelled is not called again`() async throws {
    let events = Events<Int>()
    let cancelled = bikes.findAll().observeLocal { _, _ in events.send(1) }
    #expect(await events.next(1) == [1])
    cancelled.cancel()
    cancelled.cancel()
    #expect(cancelled.isCancelled)
    let other = bikes.findAll().observeLocal { docs, event in events.send(event.isInitial ? 2 : 3) }
    #expect(await events.next(1) == [2])
    try await bikes.upsert(["_id": 1])
    #expect(await events.next(1) == [3])
    other.cancel()
  }

  @Test func `one document is observed from nothing to nothing`() async throws {
    let seen = Events<[String?]>()
    let liveQuery = bikes.findByID("b1").observeLocal { doc, event in
      seen.send([event.isInitial ? "initial" : nil, event.oldDocument?["color"].string, doc?["color"].string])
    }
    #expect(await seen.next(1) == [["initial", nil, nil]])
    try await bikes.upsert(["_id": "b1", "color": "red"])
    try await bikes.upsert(["_id": "b2", "color": "grey"])
    await bikes.findByID("b1").update { $0?["color"] = "blue" }
    try await bikes.findByID("b1").remove()
    #expect(await seen.next(3) == [[nil, nil, "red"], [nil, "red", "blue"], [nil, "blue", nil]])
    liveQuery.stop()
  }

  @Test func `an observer gets whole results, also of projections and counts`() async throws {
    let rows = Events<[String]>()
    let observer = try store.registerObserver(
      query: "SELECT color FROM bikes WHERE km > :m ORDER BY color", arguments: ["m": 5]
    ) { result in
      rows.send(result.items.map { $0.jsonString() })
    }
    let counts = Events<Int>()
    let counter = try store.registerObserver(
      query: "SELECT COUNT(*) AS n FROM bikes",
      handlerWithSignalNext: { result, next in
        counts.send(result.items.first?["n"].int ?? -1)
        next()
      })
    #expect(await rows.next(1) == [[]])
    #expect(await counts.next(1) == [0])
    try await store.write { tx in
      try tx["bikes"].upsert(["_id": 1, "color": "red", "km": 10])
      try tx["bikes"].upsert(["_id": 2, "color": "blue", "km": 10])
      try tx["bikes"].upsert(["_id": 3, "color": "grey", "km": 1])
    }
    #expect(await rows.next(1) == [[#"{"color":"blue"}"#, #"{"color":"red"}"#]])
    #expect(await counts.next(1) == [3])
    observer.cancel()
    counter.cancel()
  }

  @Test func `leaving a loop ends its observation, and cancelling a task ends the loop`() async throws {
    let changes = try store.changes(of: "SELECT * FROM bikes")
    for await diff in changes {
      expect(diff.isInitial)
      break
    }
    let task = Task {
      var count = 0
      for await _ in changes { count += 1 }
      return count
    }
    task.cancel()
    #expect(await task.value <= 1)
    let open = Task { for await _ in changes {} }
    try await bikes.upsert(["_id": 1])
    try peer.dunlin.close()
    await open.value
  }

  @Test func `a handler can write and can start and stop observers`() async throws {
    let done = Events<Int>()
    let (bikes, store) = (bikes, store)
    let liveQuery = bikes.find("state == 'new'").observeLocal { docs, _ in
      for doc in docs {
        bikes.findByID(doc.id).update { $0?["state"].set("seen") }
        let inner = store["bikes"].findAll().observeLocal { docs, _ in done.send(docs.count) }
        _ = inner
        inner.cancel()
      }
      if docs.isEmpty { done.send(-1) }
    }
    #expect(await done.next(1) == [-1])
    try await bikes.upsert(["_id": "b1", "state": "new"])
    #expect(await done.next(1) == [-1])
    #expect(try bikes.findByID("b1").exec()?["state"].stringValue == "seen")
    liveQuery.cancel()
  }

  @Test func `a handle that is let go of is cancelled with a warning`() async throws {
    var liveQuery: DunlinLiveQuery? = bikes.find("color == 'red'").observeLocal { _, _ in }
    var subscription: DunlinSubscription? = bikes.find("color == 'red'").subscribe()
    #expect(peer.dunlin.sync.subscriptions.count == 1)
    #expect(liveQuery?.isCancelled == false && subscription?.isCancelled == false)
    liveQuery = nil
    subscription = nil
    #expect(peer.dunlin.sync.subscriptions.isEmpty)
    #expect(peer.log.lines(with: "live query 'color == 'red'' was let go of").count == 1)
    let statement = "SELECT * FROM bikes WHERE color == 'red'"
    #expect(peer.log.lines(with: "subscription '\(statement)' was let go of").count == 1)

    // One that was cancelled says nothing.
    var cancelled: DunlinSubscription? = bikes.findAll().subscribe()
    cancelled?.cancel()
    cancelled = nil
    #expect(peer.log.lines(with: "let go of").count == 2)
  }
}
