import DunlinKit
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
}
