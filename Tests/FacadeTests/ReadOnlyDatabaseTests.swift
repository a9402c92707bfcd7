import DunlinKit
import Foundation
import TestKit
import Testing

/// Databases that are only read, as one that ships with an application.
@Suite(.timeLimit(.minutes(15))) struct ReadOnlyDatabaseTests {
  private let directory: TemporaryDirectory
  private let log = RecordedLog()
  private var path: String { directory.file("shipped") }

  init() throws {
    directory = try TemporaryDirectory()
    let dunlin = try Dunlin(path: directory.file("shipped"), identity: .unsafeDevelopment(appID: "tests"))
    try dunlin.store["cars"].upsert(["_id": "a", "color": "red"])
    try dunlin.close()
    // What a packager leaves out, and what a writer would make again.
    for name in ["instance", "data.mdb-lock"] {
      try FileManager.default.removeItem(atPath: path + "/" + name)
    }
  }

  private func open(
    _ identity: DunlinIdentity = .unsafeDevelopment(appID: "tests"), keepsParameters: Bool = false
  ) throws -> Dunlin {
    var configuration = DunlinConfiguration(logger: log.logger, failureHandler: { [log] in log.failed($0) })
    configuration.isReadOnly = true
    configuration.keepsSystemParameters = keepsParameters
    return try Dunlin(path: path, identity: identity, configuration: configuration)
  }

  private func files() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }

  @Test func `queries answer, and nothing is written`() async throws {
    let before = try files()
    let data = try Data(contentsOf: URL(fileURLWithPath: path + "/data.mdb"))
    let (first, second) = (try open(), try open())
    for dunlin in [first, second] {
      let red = try await dunlin.store.execute(query: "SELECT _id FROM cars WHERE color = 'red'")
      expectEqual(red.items.count, 1)
      for await diff in try dunlin.store.changes(of: "SELECT * FROM cars") {
        expectEqual(diff.items.count, 1)
        break
      }
      try await expect(dunlin.store.verify().isIntact)
      try dunlin.close()
    }
    #expect(try files() == before)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path + "/data.mdb")) == data)
    #expect(log.lines(with: " ").isEmpty, "\(log.lines(with: " "))")
  }

  @Test func `writes, sync and alterations have one code`() async throws {
    let before = try files()
    let dunlin = try open(keepsParameters: true)
    let store = dunlin.store
    let calls: [() throws -> Void] = [
      { try store["cars"].upsert(["_id": "b"]) },
      { try store.blocking { _ = try $0.execute(query: "INSERT INTO cars DOCUMENTS ({'_id': 'c'})") } },
      { try store.blocking { _ = try $0.execute(query: "CREATE INDEX colors ON cars (color)") } },
      { try store.blocking { _ = try $0.execute(query: "ALTER SYSTEM SET DQL_STRICT_TYPES = true") } },
      { try dunlin.startSync() },
      { _ = try dunlin.sync.registerSubscription(query: "SELECT * FROM cars") },
      { try dunlin.openControlSocket() },
    ]
    for (number, call) in calls.enumerated() {
      let error = try #require(throws: DunlinError.self, "call \(number)", performing: call)
      expectEqual(error.code, .readOnlyStore, "call \(number): \(error)")
      expect(error.message.contains("reading only"), "call \(number): \(error)")
    }
    let compacting = await #expect(throws: DunlinError.self) { try await store.compact() }
    #expect(compacting?.code == .readOnlyStore)
    let subscription = store["cars"].find("true").subscribe()
    #expect(subscription.isCancelled && log.codes == [.readOnlyStore])
    #expect(!dunlin.isSyncActive)
    try dunlin.close()
    #expect(try files() == before)
  }

  @Test func `a directory without a database is refused`() throws {
    try FileManager.default.removeItem(atPath: path)
    let error = try #require(throws: DunlinError.self) { try open() }
    #expect(error.code == .notFound)
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  #if TLS
    @Test func `an identity needs no key there, since the database does not sync`() throws {
      let before = try files()
      let dunlin = try open(.sharedKey(appID: "tests", key: DunlinSharedKey()))
      #expect(throws: DunlinError.self) { try dunlin.startSync() }
      try dunlin.close()
      #expect(try files() == before)
    }
  #endif
}
