import DunlinKit
import DunlinTesting
import Testing

/// The code of the page on default data, and what it says of it.
@Suite(.timeLimit(.minutes(15))) struct DefaultDataPageTests {
  let devices: TwoDevices
  var both: [DunlinStore] { [devices.first.dunlin.store, devices.second.dunlin.store] }

  init() throws { devices = try TwoDevices(collections: ["settings", "stats"]) }

  /// A document that both devices must show alike.
  private func document(_ id: DunlinDocumentID, _ collection: String = "settings") throws -> DunlinDocument? {
    let found = try both.map { try $0[collection].findByID(id).exec() }
    #expect(found[0]?.jsonString() == found[1]?.jsonString())
    return found[0]
  }

  private func insertDefault(_ store: DunlinStore) async throws {
    try await store["settings"].upsert(
      ["_id": "app", "theme": "light", "volume": 5], writeStrategy: .insertDefaultIfAbsent)
  }

  private func insertByStatement(_ store: DunlinStore) async throws {
    try await store.execute(
      query: "INSERT INTO settings INITIAL DOCUMENTS ({'_id': 'app', 'theme': 'light', 'volume': 5})")
  }

  @Test func `default data loses to a change, however late it is inserted`() async throws {
    let store = both[0]
    try await insertDefault(store)
    await store["settings"].findByID("app").update { $0?["theme"].set("dark") }
    try await store["settings"].upsert(  // at the next start: changes nothing
      ["_id": "app", "theme": "light", "volume": 5], writeStrategy: .insertDefaultIfAbsent)
    #expect(try store["settings"].findByID("app").exec()?["theme"].string == "dark")
    try await insertByStatement(both[1])
    #expect(try both[1]["settings"].findByID("app").exec()?["theme"].string == "light")
    try await devices.meet()
    #expect(try document("app")?["theme"].string == "dark")
    #expect(try document("app")?["volume"].int == 5)
    devices.end()
  }

  @Test func `of different defaults the greater value wins, and fields of both stay`() async throws {
    let defaults: [[String: Any?]] = [
      ["_id": "app", "theme": "light", "a": 1], ["_id": "app", "theme": "dark"],
    ]
    for (store, fields) in zip(both, defaults) {
      try await store["settings"].upsert(fields, writeStrategy: .insertDefaultIfAbsent)
    }
    try await devices.meet()
    #expect(try document("app")?["theme"].string == "light")
    #expect(try document("app")?["a"].int == 1)
    devices.end()
  }

  @Test func `a deleted default stays deleted, and an evicted one is inserted again`() async throws {
    let store = both[0]
    try await insertDefault(store)
    await store["settings"].findByID("app").evict()
    try await insertDefault(store)
    #expect(try store["settings"].findAll().count() == 1)
    try await store["settings"].findByID("app").remove()
    try await insertDefault(store)
    #expect(try store["settings"].findAll().count() == 0)
    try await insertDefault(both[1])
    try await devices.meet()
    #expect(try document("app") == nil)
    devices.end()
  }

  @Test func `a counter has its start value once`() async throws {
    for store in both {
      try await store["stats"].upsert(
        ["_id": "flight", "meals": DunlinCounter(100)], writeStrategy: .insertDefaultIfAbsent)
      await store["stats"].findByID("flight").update { $0?["meals"].counter?.increment(by: -1) }
    }
    try await devices.meet()
    #expect(try document("flight", "stats")?["meals"].counter?.value == 98)
    devices.end()
  }

  @Test func `without an id each insert is another document`() async throws {
    for store in both {
      try await store["settings"].upsert(["theme": "light"], writeStrategy: .insertDefaultIfAbsent)
    }
    try await devices.meet()
    #expect(try both[0]["settings"].findAll().count() == 2)
    devices.end()
  }
}
