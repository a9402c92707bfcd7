import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

@Suite struct ReaderTests {
  @Test func `a forgotten snapshot is logged with its place, and refuses to be read on`() throws {
    let fixture = try StoreFixture { $0.readerDeadline = .milliseconds(30) }
    let store = fixture.store
    try store.put("a", ["n": .int(1)])
    try store.read { tx in
      let cars = try #require(try tx.collection("cars"))
      usleep(60_000)
      // Nobody wrote, so the snapshot costs nothing and lives on.
      #expect(try tx.record(cars, DocumentID("a")) != nil)
      try store.put("a", ["n": .int(2)])
      #expect(code { _ = try tx.record(cars, DocumentID("a")) } == .deadline)
      #expect(code { try tx.forEachRecord(in: cars) { _, _, _ in true } } == .deadline)
      #expect(code { _ = try tx.collections() } == .deadline)
      let lines = fixture.log.all.filter { $0.0 == .warning }
      #expect(lines.count == 1)
      #expect(lines.first?.1.contains("ReaderTests.swift:") == true)
      try store.put("a", ["n": .int(3)])
      #expect(fixture.log.all.filter { $0.0 == .warning }.count == 1)
    }
    // The slot is good again for the next one.
    for _ in 0..<20 { try expectEqual(store.fields("a", in: "cars"), ["n": .int(3)]) }
  }

  @Test func `a scan that outlives the deadline ends with the next row`() throws {
    let fixture = try StoreFixture { $0.readerDeadline = .milliseconds(30) }
    try fixture.fill(20)
    let store = fixture.store
    var rows = 0
    #expect(
      code {
        try store.read { tx in
          let cars = try #require(try tx.collection("cars"))
          try tx.forEachRecord(in: cars) { _, _, _ in
            rows += 1
            if rows == 3 {
              usleep(60_000)
              try store.put("x", [:])
            }
            return true
          }
        }
      } == .deadline)
    #expect(rows == 3)
  }

  @Test func `a snapshot of a file that compaction replaced is found too`() throws {
    let fixture = try StoreFixture { $0.readerDeadline = .milliseconds(30) }
    try fixture.fill(20)
    let store = fixture.store
    try store.read { tx in
      try store.compact()
      usleep(60_000)
      try store.put("x", [:])
      #expect(code { _ = try tx.collections() } == .deadline)
    }
  }

  @Test func `statistics tell what the store holds, takes, and who reads it`() throws {
    let fixture = try StoreFixture { $0.hardDocumentBytes = 5_000 }
    let store = fixture.store
    #expect(try store.statistics().lastCommit == nil)
    try fixture.fill(300)
    try store.write { tx in for n in 0..<10 { _ = try tx.remove(DocumentID("\(n)"), in: "cars") } }
    try store.put("b", [:], into: "boats")
    try store.put("large", ["t": .string(String(repeating: "x", count: 9_000))], into: "boats")
    func check(_ statistics: StoreStatistics) {
      #expect(statistics.documentCount == 292)
      #expect(statistics.tombstoneCount == 10)
      #expect(statistics.collections.map(\.name) == ["boats", "cars"])
      #expect(statistics.collections.map(\.tombstoneCount) == [0, 10])
      #expect(statistics.site == store.site)
      #expect(statistics.siteCount == 1)
      #expect(statistics.oversizeCount == 1)
      #expect(statistics.failure == nil)
      #expect(statistics.identityChange == nil)
      #expect(statistics.usedPages + statistics.freePages <= statistics.fileBytes / statistics.pageBytes)
      #expect(statistics.usedBytes > 300 * 400)
    }
    let now = try store.statistics()
    check(now)
    #expect(now.lastCommit == 1_800_000_000_000)
    // The writer may still hold the snapshot that it compares commits with.
    #expect((1...2).contains(now.readerCount))
    try store.read { _ in
      usleep(50_000)
      let during = try store.statistics()
      #expect(during.readerCount == 2)
      #expect(during.oldestReaderAge >= .milliseconds(10))
      #expect(during.oldestReaderPlace.contains("ReaderTests.swift:"))
    }
    #expect(try store.statistics().readerCount == 1)
    try fixture.reopen()
    check(try fixture.store.statistics())
    // Evicting and removing keep the counts exact.
    try fixture.store.write { tx in
      for n in 0..<20 { _ = try tx.evict(DocumentID("\(n)"), in: "cars") }
    }
    let later = try fixture.store.statistics()
    #expect(later.documentCount == 282)
    #expect(later.tombstoneCount == 0)
    fixture.store.close()
    #expect(code { try fixture.store.statistics() } == .closed)
  }
}
