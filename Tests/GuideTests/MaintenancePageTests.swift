import DunlinKit
import Foundation
import TestKit
import Testing

/// The code of `Documentation/Maintenance.md`.
@Suite(.timeLimit(.minutes(15))) struct MaintenancePageTests {
  @Test func `a database is looked at, copied and checked`() async throws {
    let files = try TemporaryDirectory()
    let directory = files.file("data")
    let dunlin = try Dunlin(path: directory + "/db", identity: .unsafeDevelopment(appID: "meals"))
    try await dunlin.store["orders"].upsert(["_id": "o1", "seat": "12A"])

    let statistics = try dunlin.store.statistics()
    print(statistics.documentCount, "documents,", statistics.usedBytes, "bytes in use")
    print(try dunlin.diskUsage().byteCount, "bytes on disk")

    try await dunlin.store.backup(to: directory + "/backup")
    let report = try await dunlin.store.verify()
    print(report.damages.isEmpty ? "all is well" : "\(report.damages)")
    try await dunlin.store.compact()

    #expect(statistics.documentCount == 1 && report.damages.isEmpty)
    try dunlin.close()
    #expect(try await Dunlin.verify(path: directory + "/db").damages.isEmpty)
    let rescued = try await Dunlin.rescue(path: directory + "/backup", to: directory + "/rescued")
    #expect(rescued.documentCount == 1 && rescued.damage.isIntact)
  }

  @Test func `a series of backups goes on, and is restored to a moment`() async throws {
    let files = try TemporaryDirectory()
    let directory = files.file("data")
    let meals = try Dunlin(path: directory + "/db", identity: .unsafeDevelopment(appID: "meals"))
    try await meals.store["orders"].upsert(["_id": "o1", "seat": "12A"])

    let series = directory + "/series"
    let first = try await meals.store.backup(toSeries: series)
    try await meals.store["orders"].upsert(["_id": "o2", "seat": "12B"])
    let second = try await meals.store.backup(toSeries: series)
    print(second.number, second.pageCount, "pages of", second.storePageCount)

    for point in try Dunlin.backups(inSeries: series) { print(point.number, point.sequence, point.fileBytes) }
    _ = try await Dunlin.verifyBackups(inSeries: series)
    _ = try await Dunlin.restore(fromSeries: series, at: .time(first.time), to: directory + "/restored")

    #expect(first.isBase && !second.isBase && second.number == 2)
    // Both may have been made in one millisecond, so the number is asked for as well.
    let restored = try await Dunlin.restore(fromSeries: series, at: .number(1), to: directory + "/first")
    #expect(restored == first)
    let copy = try Dunlin(path: directory + "/first", identity: .unsafeDevelopment(appID: "meals"))
    #expect(try await copy.store.execute(query: "SELECT * FROM orders").items.count == 1)
    try copy.close()
    #expect(try Dunlin.pruneBackups(inSeries: series, before: 0).isEmpty)
    try meals.close()
  }

  @Test func `a database that is only read is opened where it is, and a backup is restored`() async throws {
    let files = try TemporaryDirectory()
    let directory = files.file("data")
    let dunlin = try Dunlin(path: directory + "/db", identity: .unsafeDevelopment(appID: "meals"))
    try await dunlin.store["orders"].upsert(["_id": "o1", "seat": "12A"])
    try await dunlin.store.backup(to: directory + "/backup")
    try await dunlin.store["orders"].upsert(["_id": "o2", "seat": "12B"])
    try dunlin.close()
    let before = try FileManager.default.contentsOfDirectory(atPath: directory + "/backup").sorted()

    var configuration = DunlinConfiguration()
    configuration.isReadOnly = true
    let shipped = try Dunlin(
      path: directory + "/backup", identity: .unsafeDevelopment(appID: "meals"), configuration: configuration)
    let orders = try await shipped.store.execute(query: "SELECT * FROM orders")

    #expect(orders.items.count == 1)
    let error = await #expect(throws: DunlinError.self) {
      try await shipped.store["orders"].upsert(["_id": "o3", "seat": "12C"])
    }
    #expect(error?.code == .readOnlyStore)
    try shipped.close()

    let former = directory + "/db-former"
    try FileManager.default.moveItem(atPath: directory + "/db", toPath: former)
    do {
      let report = try await Dunlin.verify(path: directory + "/backup")
      guard report.isIntact else { throw CocoaError(.fileReadCorruptFile) }
      let backup = try Dunlin(
        path: directory + "/backup", identity: .unsafeDevelopment(appID: "meals"),
        configuration: configuration)
      try await backup.store.backup(to: directory + "/db")
      try backup.close()
    } catch {
      try FileManager.default.moveItem(atPath: former, toPath: directory + "/db")
      throw error
    }
    try FileManager.default.removeItem(atPath: former)

    #expect(try FileManager.default.contentsOfDirectory(atPath: directory + "/backup").sorted() == before)
    let restored = try Dunlin(path: directory + "/db", identity: .unsafeDevelopment(appID: "meals"))
    #expect(try await restored.store.execute(query: "SELECT * FROM orders").items.count == 1)
    try restored.close()
  }
}
