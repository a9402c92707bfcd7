import DunlinKit
import TestKit
import Testing

/// Every form of SELECT can be observed.
@Suite(.timeLimit(.minutes(15))) struct ObservedFormsTests {
  let peer: Peer
  var store: DunlinStore { peer.store }

  init() throws { peer = try Peer() }

  private func observe(_ query: String, _ rows: Events<[String]>) throws -> DunlinStoreObserver {
    try store.registerObserver(query: query) { result in rows.send(result.items.map { $0.jsonString() }) }
  }

  @Test func `groups, joins and sets are told when they change`() async throws {
    let (groups, joins, sets) = (Events<[String]>(), Events<[String]>(), Events<[String]>())
    let observers = [
      try observe("SELECT color, SUM(km) AS km FROM bikes GROUP BY color ORDER BY color", groups),
      try observe(
        "SELECT b._id AS bike, o.name AS owner FROM bikes b JOIN owners o ON o._id = b.owner", joins),
      try observe("SELECT owner AS id FROM bikes UNION SELECT _id AS id FROM owners ORDER BY id", sets),
    ]
    #expect(await [groups.next(1), joins.next(1), sets.next(1)] == [[[]], [[]], [[]]])
    try await store["bikes"].upsert(["_id": 1, "color": "red", "km": 10, "owner": "ada"])
    #expect(await groups.next(1) == [[#"{"color":"red","km":10}"#]])
    #expect(await sets.next(1) == [[#"{"id":"ada"}"#]])
    try await store["owners"].upsert(["_id": "ada", "name": "Ada"])
    #expect(await joins.next(1) == [[#"{"bike":1,"owner":"Ada"}"#]])
    try await store["bikes"].upsert(["_id": 2, "color": "red", "km": 5, "owner": "bob"])
    #expect(await groups.next(1) == [[#"{"color":"red","km":15}"#]])
    #expect(await sets.next(1) == [[#"{"id":"ada"}"#, #"{"id":"bob"}"#]])
    for observer in observers { observer.cancel() }
  }

  @Test func `a virtual collection is looked at again and again`() async throws {
    let rows = Events<[String]>()
    let observer = try observe("SELECT name FROM system:collections ORDER BY name", rows)
    #expect(await rows.next(1) == [[]])
    try await store["bikes"].upsert(["_id": 1])
    #expect(await rows.next(1) == [[#"{"name":"bikes"}"#]])
    try await store.execute(query: "CREATE INDEX byColor ON bikes (color)")
    let indexes = Events<[String]>()
    let other = try observe("SELECT _id FROM system:indexes", indexes)
    #expect(await indexes.next(1) == [[#"{"_id":"bikes.byColor"}"#]])
    try await store.execute(query: "DROP INDEX byColor ON bikes")
    #expect(await indexes.next(1) == [[]])
    observer.cancel()
    other.cancel()
  }

  @Test func `a virtual collection has no documents to be found or observed`() throws {
    try store["bikes"].upsert(["_id": 1])
    for name in ["system:collections", "__collections", "system:nothing"] {
      #expect { try store[name].findAll().exec() } throws: { ($0 as? DunlinError)?.code == .unsupported }
      store[name].findAll().observeLocal { _, _ in }.cancel()
    }
    #expect(peer.log.codes == [.unsupported, .unsupported, .unsupported])
  }

  @Test func `what cannot be observed is refused when it is asked for`() throws {
    // There is no index to find partners by.
    let join = "SELECT b._id AS i FROM bikes b JOIN owners o ON o.name = b.name"
    try store["bikes"].upsert(["_id": 1])
    try store["owners"].upsert(["_id": 1])
    #expect { try store.changes(of: join) } throws: { ($0 as? DunlinError)?.code == .unsupported }
    #expect { try store.registerObserver(query: join) { _ in } } throws: {
      ($0 as? DunlinError)?.code == .unsupported
    }
    #expect { try store.changes(of: "DELETE FROM bikes") } throws: {
      ($0 as? DunlinError)?.code == .unsupported
    }
    _ = try store.changes(of: "SELECT _id FROM bikes UNION SELECT _id FROM owners")
  }
}
