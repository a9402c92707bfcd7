import Dispatch
import DunlinKit
import Facade
import Synchronization
import TestKit
import Testing

/// Observers that are slow, that leave, or whose database closes.
@Suite(.timeLimit(.minutes(15))) struct SlowObserverTests {
  let peer: Peer
  var store: DunlinStore { peer.store }
  var bikes: DunlinCollection { store["bikes"] }

  init() throws { peer = try Peer() }

  private func write(_ round: Int) throws {
    try bikes.upsert(["_id": round % 40, "km": round])
    if round % 3 == 0 { try bikes.findByID(DunlinDocumentID(value: (round * 7) % 40)).remove() }
  }

  /// Writes new documents, and blocks the thread.
  ///
  /// A task that awaits each of many commits would wait behind all other tests each time.
  private func writeNew(_ count: Int) throws {
    for number in 0..<count { try bikes.upsert(["_id": number]) }
  }

  /// Waits until all observers have been handed what was written: they are told in the order of commits.
  private func settle() async throws {
    let ends = Events<Int>()
    let observer = try store.registerObserver(query: "SELECT * FROM ends") { ends.send($0.items.count) }
    let before = try #require(await ends.next(1).first)
    try await store["ends"].upsert(["_id": before])
    #expect(await ends.next(1) == [before + 1])
    observer.cancel()
  }

  /// The result before with a diff applied to it.
  private func applying(_ diff: DunlinDiff) -> [String] {
    let old = diff.oldItems.map { $0.jsonString() }
    let gone = Set(diff.deletions).union(diff.moves.map(\.from))
    var result = old.indices.filter { !gone.contains($0) }.map { old[$0] }
    let arriving =
      diff.insertions.map { ($0, diff.items[$0].jsonString()) } + diff.moves.map { ($0.to, old[$0.from]) }
    for (index, text) in arriving.sorted(by: { $0.0 < $1.0 }) { result.insert(text, at: index) }
    for index in diff.updates { result[index] = diff.items[index].jsonString() }
    return result
  }

  @Test(arguments: [
    "SELECT * FROM bikes ORDER BY km", "SELECT km % 3 AS k, SUM(km) AS s FROM bikes GROUP BY km % 3",
    "SELECT DISTINCT km FROM bikes WHERE km % 2 = 0",
    "SELECT km FROM bikes UNION SELECT km FROM bikes ORDER BY km LIMIT 9",
  ])
  func `who reads after hundreds of commits gets one exact diff`(query: String) async throws {
    for round in 0..<20 { try write(round) }
    var iterator = try store.changes(of: query).makeAsyncIterator()
    let first = try #require(await iterator.next())
    #expect(first.isInitial)
    for round in 20..<500 { try write(round) }
    let expected = try await store.execute(query: query).items.map { $0.jsonString() }.sorted()
    try await settle()
    let diff = try #require(await iterator.next())
    #expect(diff.items.map { $0.jsonString() }.sorted() == expected)
    #expect(diff.oldItems.map { $0.jsonString() } == first.items.map { $0.jsonString() })
    #expect(applying(diff) == diff.items.map { $0.jsonString() })
  }

  @Test func `a handler that never asks for more has at most 16 changes waiting`() async throws {
    let calls = Events<(rows: Int, signal: DunlinSignalNext)>()
    let observer = try store.registerObserver(query: "SELECT * FROM bikes") { result, next in
      calls.send((result.items.count, next))
    }
    let first = await calls.next(1)
    try writeNew(2_000)
    try await settle()
    var (seen, deliveries) = (0, 0)
    var signal = first.first?.signal
    while seen < 2_000 {
      signal?()
      let call = try #require(await calls.next(1).first)
      expect(call.rows > seen)
      (seen, signal) = (call.rows, call.signal)
      deliveries += 1
    }
    #expect(deliveries <= 16)
    observer.cancel()
  }

  @Test func `a handler that keeps the others waiting is logged with its query`() async throws {
    let peer = try Peer(handlerWarning: .milliseconds(50))
    let query = "SELECT * FROM bikes"
    // One semaphore for each handler: the second one could take what was meant for the first.
    let (goOn, ownGoesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let observer = try peer.store.registerObserver(query: query) { _ in goOn.wait() }
    func lines() -> [String] { peer.log.lines(with: "A handler of '\(query)' has run for ") }
    // It is logged again as long as it runs.
    while lines().count < 2 { try await Task.sleep(for: .milliseconds(5)) }
    goOn.signal()
    observer.cancel()
    #expect(lines()[0].hasSuffix(": until it returns, no other handler without a queue of its own is called"))

    let own = peer.store["bikes"].find("km > 3").observeLocal(deliverOn: DispatchQueue(label: "own")) {
      _, _ in ownGoesOn.wait()
    }
    let name = "A handler of 'bikes: km > 3' has run for "
    while peer.log.lines(with: name).isEmpty { try await Task.sleep(for: .milliseconds(5)) }
    ownGoesOn.signal()
    own.cancel()
    #expect(peer.log.lines(with: name)[0].hasSuffix(": it keeps the queue on which it is called"))
    #expect(DunlinConfiguration().handlerWarning == .seconds(10))
  }

  @Test func `an observer that is cancelled while it is told is not told again`() async throws {
    let calls = Mutex(0)
    let began = Events<Int>()
    let goOn = Events<Int>()
    let observer = try store.registerObserver(query: "SELECT * FROM bikes") { _, next in
      calls.withLock { $0 += 1 }
      began.send(1)
      Task {
        _ = await goOn.next(1)
        next()
      }
    }
    _ = await began.next(1)
    for round in 0..<50 { try write(round) }
    observer.cancel()
    goOn.send(1)
    let end = Events<Int>()
    let other = try store.registerObserver(query: "SELECT * FROM bikes") { end.send($0.items.count) }
    _ = await end.next(1)
    #expect(calls.withLock { $0 } == 1)
    other.cancel()
  }

  @Test func `closing the database ends all observers`() async throws {
    let observers = try [
      "SELECT * FROM bikes", "SELECT COUNT(*) AS c FROM bikes", "SELECT * FROM system:collections",
    ]
    .map { try store.registerObserver(query: $0) { _ in } }
    let changes = try store.changes(of: "SELECT SUM(km) AS s FROM bikes")
    let loop = Task {
      for await _ in changes {}
      return true
    }
    for round in 0..<100 { try write(round) }
    try peer.dunlin.close()
    #expect(await loop.value)
    for observer in observers { expect(observer.isCancelled) }
  }

  @Test func `small and large commits, and observers that join between them, agree`() async throws {
    for step in 0..<12 {
      try await store.write { tx in
        // Above 16 documents another thread looks for the observers.
        for number in 0..<(step % 3 == 0 ? 40 : 1) {
          try tx["bikes"].upsert(["_id": number, "state": (number + step) % 7, "step": step])
        }
      }
      for state in 0..<7 {
        let query = "SELECT _id, step FROM bikes WHERE state = \(state) ORDER BY _id"
        let rows = Events<[String]>()
        let observer = try store.registerObserver(query: query) {
          rows.send($0.items.map { $0.jsonString() })
        }
        let expected = try await store.execute(query: query).items.map { $0.jsonString() }
        await expectEqual(rows.next(1), [expected], "step \(step), state \(state)")
        if step % 2 == 0 { observer.cancel() } else { withExtendedLifetime(observer) { observer.stop() } }
      }
    }
  }
}
