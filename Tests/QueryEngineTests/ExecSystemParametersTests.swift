import CRDTCore
import DocStore
import QueryEngine
import Synchronization
import TestKit
import Testing

@Suite struct ExecSystemParametersTests {
  private struct Refused: Error {}

  @Test func `names do not depend on case and come back in lower case`() throws {
    let parameters = SystemParameters()
    try parameters.set("Tombstone_TTL_Hours", to: .int(5))
    #expect(try parameters.value(of: "TOMBSTONE_TTL_HOURS") == .int(5))
    #expect(parameters.values["tombstone_ttl_hours"] == .int(5))
    #expect(parameters.changedValues == ["tombstone_ttl_hours": .int(5)])
    try parameters.reset("tombstone_TTL_hours")
    #expect(parameters.changedValues.isEmpty)
  }

  @Test func `an unknown name is answered with the nearest known one`() {
    #expect { try SystemParameters().set("TOMBSTONE_TTL_HOUR", to: .int(1)) } throws: { error in
      guard let error = error as? QueryError else { return false }
      return error.code == .unknownParameter
        && error.message.contains("unknown parameter 'tombstone_ttl_hour'")
        && error.expected == ["tombstone_ttl_hours"]
    }
    #expect { try SystemParameters().value(of: "zzz") } throws: { ($0 as? QueryError)?.expected == [] }
  }

  @Test(arguments: [
    ("tombstone_ttl_hours", Value.string("1")), ("tombstone_ttl_hours", .int(0)),
    ("tombstone_ttl_hours", .double(2)), ("certificate_ttl_hours", .int(-1)),
    ("tombstone_ttl_enabled", .int(1)),
    ("dql_strict_mode", .string("true")),
    ("dql_restrict_subscriptions", .null), ("document_size_hard_limit_bytes", .int(-1)),
    ("document_size_soft_limit_bytes", .int(1 << 40)), ("user_collection_sync_scopes", .array([])),
  ])
  func `refuses a value of the wrong type or out of range`(name: String, value: Value) throws {
    let parameters = SystemParameters()
    #expect { try parameters.set(name, to: value) } throws: { ($0 as? QueryError)?.code == .argument }
    #expect(parameters.changedValues.isEmpty)
  }

  @Test func `strict mode cannot be switched on`() throws {
    let parameters = SystemParameters()
    try parameters.set("DQL_STRICT_MODE", to: .bool(false))
    #expect { try parameters.set("DQL_STRICT_MODE", to: .bool(true)) } throws: { error in
      (error as? QueryError)?.code == .unsupported
    }
  }

  @Test func `a layer above brings its own validation and is told of changes`() throws {
    let seen = Mutex<[Value]>([])
    let parameters = SystemParameters()
    parameters.register("USER_COLLECTION_SYNC_SCOPES", default: .map([:])) { value in
      guard case .map(let scopes) = value, scopes["bad"] == nil else { throw Refused() }
    } onChange: { value in
      seen.withLock { $0.append(value) }
    }
    try parameters.set("user_collection_sync_scopes", to: .map(["a": .string("AllPeers")]))
    #expect(throws: Refused.self) {
      try parameters.set("user_collection_sync_scopes", to: .map(["bad": .null]))
    }
    try parameters.set("user_collection_sync_scopes", to: .map(["b": .string("AllPeers")]))
    try parameters.resetAll()
    #expect(
      seen.withLock { $0 } == [.map(["a": .string("AllPeers")]), .map(["b": .string("AllPeers")]), .map([:])])
  }

  @Test func `an observer is told the present value at once`() throws {
    let seen = Mutex<[Value]>([])
    let parameters = SystemParameters()
    try parameters.observe("TOMBSTONE_TTL_HOURS") { value in seen.withLock { $0.append(value) } }
    try parameters.set("TOMBSTONE_TTL_HOURS", to: .int(3))
    #expect(seen.withLock { $0 } == [.int(168), .int(3)])
    #expect(throws: QueryError.self) { try parameters.observe("nothing") { _ in } }
  }

  @Test func `the lifetimes of a store's deletions follow their parameters`() throws {
    let directory = try TemporaryDirectory()
    var options = StoreOptions(log: { _, _ in })
    options.tombstoneLifetime = .seconds(30 * 86_400)
    options.certificateLifetime = nil
    let store = try Store.open(at: directory.file("db"), options: options)
    defer { store.close() }
    let parameters = SystemParameters()
    try parameters.govern(store)
    #expect(try parameters.value(of: "tombstone_ttl_hours") == .int(720))
    #expect(try parameters.value(of: "certificate_ttl_hours") == .int(0))
    #expect(parameters.changedValues.isEmpty)
    let engine = Engine(store: store, parameters: parameters, environment: .still)
    _ = try engine.execute("ALTER SYSTEM SET TOMBSTONE_TTL_HOURS = 5")
    _ = try engine.execute("ALTER SYSTEM SET CERTIFICATE_TTL_HOURS = 48")
    #expect(store.tombstoneLifetime == .seconds(5 * 3_600))
    #expect(store.certificateLifetime == .seconds(2 * 86_400))
    _ = try engine.execute("ALTER SYSTEM SET TOMBSTONE_TTL_ENABLED = false")
    #expect(store.tombstoneLifetime == nil)
    try parameters.resetAll()
    #expect(store.tombstoneLifetime == .seconds(30 * 86_400))
    #expect(store.certificateLifetime == nil)
  }

  @Test func `other default lifetimes apply at once, and what was set goes before them`() throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(at: directory.file("db"), options: StoreOptions(log: { _, _ in }))
    defer { store.close() }
    let parameters = SystemParameters()
    try parameters.govern(store)
    let kept = Mutex<[[TextKey: Value]]>([])
    parameters.keep { changed in kept.withLock { $0.append(changed) } }
    try parameters.setLifetimes(tombstoneHours: 240, certificateHours: 0)
    #expect(store.tombstoneLifetime == .seconds(240 * 3_600))
    #expect(store.certificateLifetime == nil)
    #expect(parameters.changedValues.isEmpty)
    #expect(kept.withLock { $0 }.isEmpty)

    try parameters.set("tombstone_ttl_hours", to: .int(5))
    try parameters.setLifetimes(tombstoneHours: 300, certificateHours: 48)
    #expect(store.tombstoneLifetime == .seconds(5 * 3_600))
    #expect(store.certificateLifetime == .seconds(48 * 3_600))
    try parameters.reset("tombstone_ttl_hours")
    #expect(store.tombstoneLifetime == .seconds(300 * 3_600))

    // A set value that becomes the default is none that was set.
    try parameters.set("tombstone_ttl_hours", to: .int(5))
    try parameters.setLifetimes(tombstoneHours: 5, certificateHours: 48)
    #expect(kept.withLock { $0.last } == [:])
    try parameters.setLifetimes(tombstoneHours: 6, certificateHours: 48)
    #expect(store.tombstoneLifetime == .seconds(6 * 3_600))

    // What is refused changes nothing.
    #expect(throws: QueryError.self) { try parameters.setLifetimes(tombstoneHours: 0, certificateHours: 1) }
    #expect(throws: QueryError.self) { try parameters.setLifetimes(tombstoneHours: 1, certificateHours: -1) }
    try parameters.set("tombstone_ttl_hours", to: .int(9))
    parameters.keep { _ in throw Refused() }
    #expect(throws: Refused.self) { try parameters.setLifetimes(tombstoneHours: 9, certificateHours: 1) }
    #expect(parameters.changedValues == ["tombstone_ttl_hours": .int(9)])
    #expect(store.certificateLifetime == .seconds(48 * 3_600))
  }
}
