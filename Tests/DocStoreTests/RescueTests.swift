import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

@Suite struct RescueTests {
  private let clock = DayClock()
  private let fixture: StoreFixture
  private var target: String { fixture.directory.file("rescued") }

  init() throws {
    fixture = try StoreFixture(clock: clock) { $0.hardDocumentBytes = 5_000 }
    try fixture.fill(600)
    try fixture.store.write { tx in for n in 0..<5 { _ = try tx.remove(DocumentID("\(n)"), in: "cars") } }
    try fixture.store.put("large", ["t": .string(String(repeating: "y", count: 9_000))], into: "boats")
    try fixture.store.put("bad", ["text": .string("a text that will be damaged")], into: "boats")
    try fixture.store.createIndex(.cars("byN", "n"))
  }

  /// Closes the store, damages its file, and rescues it; gives the new store, and what the old one held.
  private func rescue(
    after damage: () throws -> Void = {}
  ) throws -> (RescueReport, Store, Holdings) {
    let old = try Holdings(fixture.store)
    fixture.store.close()
    try damage()
    let before = try Data(contentsOf: URL(fileURLWithPath: fixture.dataPath))
    let report = try Store.rescue(from: fixture.path, to: target)
    #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.dataPath)) == before)
    let store = try Store.open(at: target)
    #expect(store.identityChange == nil)
    #expect(try store.verify().isIntact)
    #expect(!FileManager.default.fileExists(atPath: target + ".partial"))
    return (report, store, old)
  }

  /// Changes all pages of the store's file that are `wanted`; those that were freed are of no matter.
  private func changePages(_ wanted: (Data) -> Bool, _ change: (inout Data) -> Void) throws {
    let url = URL(fileURLWithPath: fixture.dataPath)
    var file = try Data(contentsOf: url)
    for start in stride(from: 8_192, to: file.count, by: 4_096) {
      var page = Data(file[start..<start + 4_096])
      guard wanted(page) else { continue }
      change(&page)
      file.replaceSubrange(start..<start + 4_096, with: page)
    }
    try file.write(to: url)
  }

  private static func isUpper(_ page: Data) -> Bool { page[10] == 1 }

  @Test func `all of a whole store is taken over, by another site`() throws {
    let site = fixture.store.site
    let (report, store, old) = try rescue()
    let new = try Holdings(store)
    #expect(report.damage.isIntact, "\(report.damage.damages)")
    #expect(report.documentCount == 602)
    #expect(report.strayCount == 0)
    #expect(report.indexCount == 1)
    #expect(new.summaries == old.summaries)
    #expect(new.collections == old.collections)
    #expect(new.groups.isEmpty)
    #expect(store.site != site)
    #expect(try store.read { try $0.formerSites().map(\.site) } == [site])
    #expect(try store.fields("large", in: "boats")?["t"] == .string(String(repeating: "y", count: 9_000)))
  }

  @Test func `deletions that are only remembered by certificates stay deletions`() throws {
    try fixture.store.write { tx in for n in 0..<5 { _ = try tx.evict(DocumentID("\(n)"), in: "cars") } }
    let count = try fixture.store.read { try $0.certificateCount() }
    #expect(count == 5)
    let (report, store, _) = try rescue()
    #expect(report.certificateCount == 5)
    #expect(try store.read { try $0.certificateCount() } == 5)
    let life = try store.read { tx in
      let cars = try #require(try tx.collection("cars"))
      return try tx.withRecord(cars, DocumentID("1")) { record, _ in record.isAlive }
    }
    #expect(life == false)
  }

  @Test func `a damaged document is named, and all others are taken`() throws {
    let (report, store, old) = try rescue {
      try FileDamage.replace(
        Array("will be damaged".utf8), by: Array("will be dam\u{7}ged".utf8), at: fixture.dataPath)
    }
    #expect(report.damage.damages.map(\.kind) == [.document])
    let lost = try #require(report.damage.damages.first)
    #expect(lost.collection == "boats")
    #expect(lost.id == "03626164")
    #expect(lost.message == "The record is damaged")
    var expected = old.summaries
    expected["boats/bad/true"] = nil
    expected = expected.filter { !$0.key.hasPrefix("boats/") || !$0.key.contains("bad") }
    #expect(try Holdings(store).summaries == expected)
  }

  @Test func `documents on a page that is gone are named by their ids`() throws {
    let (report, store, old) = try rescue {
      try changePages({ $0[10] == 2 && $0.range(of: Data("will be damaged".utf8)) != nil }) {
        $0 = Data(count: $0.count)
      }
    }
    let new = try Holdings(store)
    let lost = old.summaries.keys.filter { new.summaries[$0] == nil }
    #expect(!lost.isEmpty)
    let named = report.damage.damages.filter { $0.kind == .document }
    #expect(named.count == lost.count)
    #expect(named.contains { $0.collection == "boats" && $0.id == "03626164" })
    #expect(Set(named.compactMap(\.id)).count == lost.count)
  }

  @Test func `a lost document whose id is lost too is named by its key`() throws {
    let (report, _, _) = try rescue {
      try FileDamage.replace(
        Array("will be damaged".utf8), by: Array("will be dam\u{7}ged".utf8), at: fixture.dataPath)
      // The tables of ids have no record with a text, and their leaves hold ids one after another.
      try changePages({ $0[10] == 2 && $0.range(of: Data([2, 3] + "large".utf8)) != nil }) {
        $0 = Data(count: $0.count)
      }
    }
    let documents = report.damage.damages.filter { $0.kind == .document }
    #expect(documents.contains { $0.id == nil && $0.message.hasPrefix("The record is damaged, under ") })
  }

  @Test func `a leaf page with a damaged head costs no document`() throws {
    let (report, store, old) = try rescue {
      try changePages({ $0[10] == 2 && $0.range(of: Data("will be damaged".utf8)) != nil }) { $0[10] = 0x42 }
      #expect(code { try Store.open(at: fixture.path) } == .corrupt)
    }
    #expect(report.damage.damageCount == 1)
    #expect(report.strayCount > 0)
    #expect(try Holdings(store).summaries == old.summaries)
  }

  @Test func `documents are found when all upper pages are gone`() throws {
    let (report, store, old) = try rescue {
      try changePages(Self.isUpper) { $0 = Data(count: $0.count) }
      #expect(code { try Store.open(at: fixture.path) } == .corrupt)
    }
    #expect(report.strayCount > 500)
    #expect(try Holdings(store).summaries == old.summaries)
  }

  @Test func `removed documents do not come back from free pages, nor from the free room of others`() throws {
    try fixture.store.write { tx in for n in 5..<600 { _ = try tx.remove(DocumentID("\(n)"), in: "cars") } }
    try fixture.store.write { tx in for n in 300..<600 { _ = try tx.evict(DocumentID("\(n)"), in: "cars") } }
    let (_, store, _) = try rescue {
      try changePages(Self.isUpper) { $0 = Data(count: $0.count) }
    }
    #expect(try store.count(in: "cars") == 0)
  }

  @Test func `a collection that lost its name is taken under one that says so`() throws {
    let (report, store, _) = try rescue {
      var name = ByteWriter()
      name.writeString("boats")
      try FileDamage.replace(name.bytes, by: Array("\u{5}b?ats".utf8), at: fixture.dataPath)
    }
    #expect(report.damage.damages.map(\.kind) == [.entry])
    #expect(try store.read { try $0.collections() }.map(\.name) == ["cars", "rescued_2"])
    #expect(try store.fields("bad", in: "rescued_2") == ["text": .string("a text that will be damaged")])
  }

  @Test func `a field that lost its name keeps its values`() throws {
    let (report, store, _) = try rescue {
      try FileDamage.replace(Array("\u{4}text".utf8), by: Array("\u{4}t?xt".utf8), at: fixture.dataPath)
    }
    #expect(report.damage.damages.map(\.kind) == [.entry, .entry])
    #expect(report.documentCount == 602)
    let fields = try #require(try store.fields("17", in: "cars"))
    #expect(fields.count == 2)
    #expect(fields["n"] == .int(17))
    #expect(
      fields.contains {
        $0.key.text.hasPrefix("rescued_") && $0.value == .string(String(repeating: "x", count: 400))
      })
  }

  @Test func `a rescue that cannot be leaves nothing behind`() throws {
    let path = fixture.path
    #expect(code { try Store.rescue(from: path, to: target) } == .alreadyOpen)
    fixture.store.close()
    #expect(code { try Store.rescue(from: path + "-none", to: target) } == .notFound)
    #expect(code { try Store.rescue(from: path, to: path) } == .exists)
    #expect(code { try Store.rescue(from: path, to: "") } == .notFound)
    #expect(throws: Interruption.self) {
      try Store.rescue(from: path, to: target) { if $0.done > 300 { throw Interruption() } }
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: fixture.directory.path)
    #expect(names == ["db"])
  }

  @Test func `what an interrupted rescue left is written anew`() throws {
    let draft = try Store.open(at: target + ".partial")
    try draft.put("stale", ["a": .int(1)])
    fixture.store.close()
    #expect(code { try Store.rescue(from: fixture.path, to: target) } == .alreadyOpen)
    draft.close()
    try Store.open(at: fixture.path).close()
    let report = try Store.rescue(from: fixture.path, to: target)
    #expect(report.documentCount == 602)
  }

  @Test func `a file that says nothing of its tables is refused`() throws {
    fixture.store.close()
    try Data(repeating: 7, count: 40_960).write(to: URL(fileURLWithPath: fixture.dataPath))
    #expect(code { try Store.rescue(from: fixture.path, to: target) } == .corrupt)
    #expect(!FileManager.default.fileExists(atPath: target + ".partial"))
  }
}
