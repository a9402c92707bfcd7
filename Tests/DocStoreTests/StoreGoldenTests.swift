import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

/// A store as this format has it; the files are never regenerated, a new format adds its own.
@Suite struct StoreGoldenTests {
  private static let cursors = SideTable(working: "cursors")
  private static let cursorKey: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]

  /// A store with something in every table.
  private static func fixture() throws -> StoreFixture {
    let clock = DayClock()
    let fixture = try StoreFixture(seed: 7, clock: clock) {
      $0.hardDocumentBytes = 2_000
      $0.recentIDs = 3
      $0.keptSites = 0
      $0.siteRun = 2
    }
    let store = fixture.store
    try store.write { tx in
      for n in 0..<3 {
        try tx.upsert(
          ["n": .int(Int64(n)), "text": .string("number \(n)")], id: DocumentID(.int(Int64(n))), into: "cars")
      }
    }
    try store.createIndex(.cars("byN", "-n"))
    try store.put("gone", ["n": .int(9)])
    try store.put("trimmed", ["n": .int(10), "old": .bool(true)])
    try store.put("large", ["text": .string(String(repeating: "l", count: 2_500))], into: "boats")
    try store.certify("certified", ["n": .int(11)])
    clock.advance(days: 1)
    try store.write { tx in
      try tx.remove(DocumentID("gone"), in: "cars")
      try tx.update(DocumentID("trimmed"), in: "cars", [.remove(["old"])])
    }
    try store.write { tx in
      // As sync writes them: first comes the time.
      var time = ByteWriter()
      time.writeFixed(try tx.lastingTime())
      let numbers: [UInt8] = [0, 0, 0, 0, 0, 0, 0]
      try tx.setSideValue(time.bytes + [1, 2, 3], cursors, key: cursorKey)
      let stagingKey = numbers + [7] + numbers + [8] + [0, 0, 0, 6]
      try tx.setSideValue(time.bytes + [4, 5], SideTable(working: "staging"), key: stagingKey)
      let cars = try #require(try tx.collection("cars"))
      var leavingKey = ByteWriter()
      leavingKey.writeFixed(cars.id)
      leavingKey.write(try DocumentID("trimmed").bytes)
      try tx.setSideValue(time.bytes + [9], SideTable(working: "leaving"), key: leavingKey.bytes)
    }
    return fixture
  }

  private static func url(_ name: String, _ ending: String) throws -> URL {
    try #require(Bundle.module.url(forResource: name, withExtension: ending, subdirectory: "Golden"))
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  @Test func `every table is written as it always was`() throws {
    let fixture = try Self.fixture()
    var text = ""
    for table in [
      "meta", "collections", "keys", "sites", "siteRuns", "ids", "recent", "documents", "log", "oversize",
      "indexes", "rows", "expiry", "certificates", "cursors", "staging", "leaving",
    ] {
      let entries = try fixture.store.entries(of: table)
      expect(!entries.isEmpty, "\(table)")
      for (key, value) in entries { text += "\(table) \(Self.hex(key)) \(Self.hex(value))\n" }
    }
    Attachment.record(text, named: "store-v5.txt")
    #expect(try String(contentsOf: Self.url("store-v5", "txt"), encoding: .utf8) == text)
  }

  @Test func `opens the file that an earlier build wrote`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("db")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: Self.url("store-v5", "bin").path, toPath: path + "/data.mdb")
    let clock = DayClock(1_800_100_000_000)
    var options = StoreOptions(now: { clock.now }, log: { _, _ in })
    options.collectionInterval = nil
    let store = try Store.open(at: path, options: options)
    defer { store.close() }
    // It is a backup, and so becomes a site of its own.
    #expect(store.identityChange?.reason == .backup)
    #expect(try store.verify().damages == [])
    #expect(try store.count(in: "cars") == 4)
    #expect(try store.ids(in: "byN") == [.string("trimmed"), .int(2), .int(1), .int(0)])
    #expect(try store.fields("trimmed", in: "cars") == ["n": .int(10)])
    #expect(try store.state("gone") == .deleted)
    #expect(try store.state("certified") == .deleted)
    #expect(try store.read { try $0.oversizeDocuments() }.map(\.collection) == ["boats"])
    let expiry = try store.statistics().expiry
    #expect((expiry.waitingDocuments, expiry.logEntries, expiry.certificates) == (3, 8, 1))
    try clock.pass(days: 8, store)
    #expect(try store.memory() == Memory(records: 4, alive: 4, certificates: 2))
    try store.put("certified", ["n": .int(0)])
    let cursor = try store.read { try $0.sideValue(Self.cursors, key: Self.cursorKey) }
    #expect(cursor?.suffix(3) == [1, 2, 3])
    #expect(try store.verify().damages == [])
  }

  /// Writes the file of a new format, on purpose: `DUNLIN_GOLDEN=PATH swift test --filter StoreGolden`.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["DUNLIN_GOLDEN"] != nil))
  func `writes the file of a new format`() throws {
    let target = try #require(ProcessInfo.processInfo.environment["DUNLIN_GOLDEN"])
    let fixture = try Self.fixture()
    let path = fixture.directory.file("backup")
    try fixture.store.backup(to: path)
    try FileManager.default.copyItem(atPath: path + "/data.mdb", toPath: target)
  }
}
