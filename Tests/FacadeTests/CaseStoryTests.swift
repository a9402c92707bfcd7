import DunlinKit
import Testing

/// Cases of the reference that only the outer API can tell; each test names its own.
@Suite(.timeLimit(.minutes(15))) struct CaseStoryTests {
  private let peer: Peer
  private var cars: DunlinCollection { peer.store["cars"] }

  init() throws {
    peer = try Peer()
    try cars.upsert(["_id": "c1", "color": "blue", "year": 2_018, "km": 42_000])
    try cars.upsert(["_id": "c2", "color": "red", "year": 2_003, "km": 210_000])
  }

  @Test func `L27: only what differs is written, so that another's change of the rest stays`() async throws {
    let other = try Peer("phone")
    let subscriptions = [peer, other].map { $0.store["cars"].findAll().subscribe() }
    try other.connect(to: peer)
    try await other.wait(for: "cars") { $0.count == 2 }
    other.dunlin.stopSync()
    await other.store["cars"].findByID("c1").update { $0?["color"].set("green") }
    try await cars.upsert(
      ["_id": "c1", "color": "blue", "year": 2_019], writeStrategy: .updateDifferentValues)
    try other.dunlin.startSync()
    // Had the later upsert written the color too, it would be blue again.
    for peer in [peer, other] {
      try await peer.wait(for: "cars") { items in
        items.contains { $0["color"].stringValue == "green" && $0["year"].int == 2_019 }
      }
    }
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `L29: a number that becomes a counter counts on from its value`() throws {
    cars.findByID("c1").update { car in
      car?["km"].replaceWithCounter()
      car?["km"].counter?.increment(by: -2_000)
    }
    #expect(try cars.findByID("c1").exec()?["km"].int == 40_000)
  }

  @Test func `L31: what is evicted is not there`() throws {
    #expect(cars.findByID("c2").evict())
    #expect(try cars.findByID("c2").exec() == nil)
    #expect(!cars.findByID("c2").evict())
  }

  @Test func `L32: a document that was removed cannot be updated in the same transaction`() throws {
    let error = #expect(throws: DunlinError.self) {
      try peer.store.write { tx in
        let cars = tx.scoped(toCollectionNamed: "cars")
        try cars.findByID("c1").remove()
        try cars.upsert(["_id": "c1"])
      }
    }
    #expect(error?.message.contains("cannot update a removed document in the same transaction") == true)
    #expect(try cars.findByID("c1").exec()?["color"].stringValue == "blue")
  }

  @Test func `L34: a write inside a closure fails at once and leaves everything as it was`() throws {
    let settings = peer.store["settings"]
    let error = #expect(throws: DunlinError.self) {
      try cars.findByID("c1").update { car in
        car?["color"].set("black")
        try settings.upsert(["_id": "s1"])
      }
    }
    #expect(error?.code == .nestedWriteTransaction)
    #expect(try cars.findByID("c1").exec()?["color"].stringValue == "blue")
    #expect(try settings.findAll().exec().isEmpty)
  }
}
