import DunlinKit
import Foundation
import Synchronization
import TestKit
import Testing

/// Every write has a form that is awaited, and the blocking ones do not stop the tasks that they wait for.
@Suite struct AwaitedWriteTests {
  private struct Bike: Codable, Sendable {
    var _id: String
    var km: Int
  }

  let peer: Peer
  var store: DunlinStore { peer.store }

  init() throws { peer = try Peer() }

  @Test func `every write of a collection can be awaited`() async throws {
    let bikes = store["bikes"]
    for number in 1...4 { try await bikes.upsert(["_id": "b\(number)", "km": number] as [String: Any?]) }
    try await bikes.upsert(Bike(_id: "b5", km: 5))
    var seen: [Int] = []
    try await bikes.findByID("b1").update { bike in
      guard let bike else { throw DunlinError(.notFound, "no bike") }
      bike["km"].set(10)
    }
    await bikes.findByID("b2").update { bike in bike?["km"].set(20) }
    #expect(
      try await bikes.find("km == 3").update { bikes in
        for bike in bikes { try #require(bike["km"].value != nil); bike["km"].set(30) }
      }.count == 1)
    #expect(
      await bikes.find("km == 4").update { bikes in for bike in bikes { bike["km"].set(40) } }.count == 1)
    seen = try bikes.findAll().sort("km").exec().map { $0["km"].intValue }
    #expect(seen == [5, 10, 20, 30, 40])
    #expect(try await bikes.findByID("b1").remove())
    #expect(await bikes.findByID("b2").evict())
    #expect(try await bikes.find("km == 30").remove() == ["b3"])
    #expect(await bikes.find("km == 40").evict() == ["b4"])
    let left = try await store.write { tx in
      try tx["bikes"].upsert(["_id": "b6"])
      return try tx["bikes"].findAll().exec().map(\.id)
    }
    #expect(left == ["b5", "b6"])
    let evicted = await store.write { tx in tx["bikes"].findByID("b6").evict() }
    #expect(evicted == true)
    #expect(try bikes.findAll().exec().count == 1)
  }

  @Test func `an awaited write that fails has written nothing, and says why`() async throws {
    let bikes = store["bikes"]
    try await bikes.upsert(["_id": "b1", "km": 1])
    let thrown = await #expect(throws: DunlinError.self) {
      try await bikes.findByID("b1").update { bike in
        bike?["km"].set(2)
        throw DunlinError(.argument, "not this one")
      }
    }
    #expect(thrown?.message == "not this one")
    await store.write { tx in tx["bikes"].find("km ==").update { _ in } }
    #expect(peer.log.codes == [.syntax])
    #expect(await bikes.find("km ==").evict().isEmpty)
    #expect(try bikes.findByID("b1").exec()?["km"].intValue == 1)
    try peer.dunlin.close()
    let closed = await #expect(throws: DunlinError.self) { try await bikes.upsert(["_id": "b2"]) }
    #expect(closed?.code == .closed)
  }

  /// What a synchronous function of an application does, and the form that its error is to name.
  private static let blocking: [(form: String, write: @Sendable (DunlinStore) throws -> Void)] = [
    ("upsert", { try $0["bikes"].upsert(["_id": "b"]) }),
    ("update", { try $0["bikes"].findByID("a").update { _ in try Task.checkCancellation() } }),
    ("remove", { try $0["bikes"].findAll().remove() }),
    ("write", { try $0.write { tx in _ = try tx["bikes"].upsert(["_id": "b"]) } }),
    ("execute", { try $0.execute(query: "DELETE FROM bikes") }),
  ]

  @Test func `a blocking write in a task gives up after a second, and names the form that is awaited`()
    async throws
  {
    let store = store
    // Other tests may keep all of the pool's threads for longer than a transaction may be idle.
    let threads = DedicatedThreads()
    let errors = try await withTaskExecutorPreference(threads) {
      try await store.transaction { _ in
        var errors: [String: DunlinError] = [:]
        for (form, write) in Self.blocking {
          let error = await Task.detached(executorPreference: threads) { () -> DunlinError? in
            do { try write(store) } catch { return error as? DunlinError }
            return nil
          }.value
          errors[form] = error
        }
        return errors
      }
    }
    for (form, _) in Self.blocking {
      expectEqual(errors[form]?.code, .wouldBlock, "\(form)")
      expectEqual(errors[form]?.message.contains("`try await \(form)`"), true, "\(form)")
    }
    #expect(try store["bikes"].findAll().exec().isEmpty)
    // Without such a transaction it blocks as long as it takes.
    for (_, write) in Self.blocking { try write(store) }
  }

  @Test func `an eviction that would block is reported, for it cannot throw`() async throws {
    let store = store
    try await store["bikes"].upsert(["_id": "b"])
    let threads = DedicatedThreads()
    try await withTaskExecutorPreference(threads) {
      try await store.transaction { _ in
        _ = await Task.detached(executorPreference: threads) { Self.evict(store) }.value
      }
    }
    #expect(peer.log.codes == [.wouldBlock])
    #expect(try store["bikes"].findAll().exec().count == 1)
  }

  private static func evict(_ store: DunlinStore) -> Int { store["bikes"].findAll().evict().count }

  @Test func `closing inside a write, then outside, waits for the write`() async throws {
    let peer = peer
    let (entered, entry) = AsyncStream.makeStream(of: Void.self)
    let gate = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      _ = try? peer.store.write { tx in
        _ = try tx["bikes"].upsert(["_id": "b"])
        try peer.dunlin.close()
        entry.yield()
        gate.wait()
      }
    }
    for await _ in entered { break }
    gate.signal()
    try peer.dunlin.close()
    // At once, for nobody has the files any more.
    let again = try Dunlin(path: peer.directory.file("db"), identity: .unsafeDevelopment(appID: "tests"))
    #expect(try again.store["bikes"].findAll().exec().count == 1)
    try again.close()
  }

  @Test func `a closed database refuses to listen, to sync and to be written`() throws {
    try peer.dunlin.close()
    for use in [
      { try peer.dunlin.listen() }, { try peer.dunlin.startSync() },
      { try peer.store["bikes"].upsert(["_id": "b"]) },
    ] {
      let error = #expect(throws: DunlinError.self) { try use() }
      expectEqual(error?.code, .closed)
    }
    #expect(peer.dunlin.listeningPorts.isEmpty)
  }

  @Test func `a database that is closed while it syncs is no failure to anybody`() async throws {
    for round in 0..<5 {
      let (left, right) = (try Peer("left"), try Peer("right"))
      let subscription = try left.dunlin.sync.registerSubscription(query: "SELECT * FROM bikes")
      try left.connect(to: right)
      for number in 0..<50 { try await right.store["bikes"].upsert(["_id": number, "km": round]) }
      try await left.wait(for: "bikes") { !$0.isEmpty }
      try right.dunlin.close()
      subscription.cancel()
      try left.dunlin.close()
      for log in [left.log, right.log] {
        expect(log.lines(with: "store failed").isEmpty)
        expect(log.codes.isEmpty)
      }
    }
  }

  @Test func `a size that is none is refused`() throws {
    let directory = try TemporaryDirectory()
    let error = #expect(throws: DunlinError.self) {
      try Dunlin(
        path: directory.file("db"), identity: .unsafeDevelopment(appID: "tests"),
        configuration: DunlinConfiguration(mapBytes: 0))
    }
    #expect(error?.code == .argument)
    #expect(try directory.contents().isEmpty)
  }
}
