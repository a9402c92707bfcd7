import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

@Suite struct ErasingTests {
  private static let canary = "a canary that must not sing"

  private func holdsCanary(_ fixture: StoreFixture) throws -> Bool {
    let file = try Data(contentsOf: URL(fileURLWithPath: fixture.dataPath))
    return file.range(of: Data(Self.canary.utf8)) != nil
  }

  private func put(_ store: Store) throws {
    try store.put("x", ["name": .string(Self.canary), "n": .int(1)])
  }

  private func erase(_ store: Store, _ id: String = "x") throws {
    try store.write { _ = try $0.erase(DocumentID(id), in: "cars") }
  }

  @Test func `an erased document has no content, and after compaction its file has none`() throws {
    let fixture = try StoreFixture()
    try put(fixture.store)
    try fixture.store.createIndex(.cars("byName", "name"))
    #expect(try holdsCanary(fixture))
    let wasHere = try fixture.store.write { try $0.erase(DocumentID("x"), in: "cars") }.0
    #expect(wasHere)
    #expect(try fixture.store.state("x") == .deleted)
    #expect(try fixture.store.bytes("x") <= 60)
    #expect(try fixture.store.count(in: "cars") == 0)
    try fixture.store.compact()
    #expect(try !holdsCanary(fixture))
    #expect(try fixture.store.verify().isIntact)
    let again = try fixture.store.write { try $0.erase(DocumentID("x"), in: "cars") }.0
    #expect(!again, "nothing is left to erase")
  }

  @Test func `a removed document is erased, too`() throws {
    let fixture = try StoreFixture()
    try put(fixture.store)
    try fixture.store.write { try $0.remove(DocumentID("x"), in: "cars") }
    try erase(fixture.store)
    try fixture.store.compact()
    #expect(try !holdsCanary(fixture))
  }

  @Test func `three stores that exchange an erasure hold nothing of the document`() throws {
    let fixtures = try (1...3).map { try StoreFixture(seed: $0) }
    let stores = fixtures.map(\.store)
    try put(stores[0])
    try stores[0].send("x", to: stores[1])
    try stores[1].send("x", to: stores[2])
    try erase(stores[0])
    // One hears of it, and then gets the old copy of one that did not.
    try stores[0].send("x", to: stores[1])
    try stores[2].send("x", to: stores[1])
    try stores[1].send("x", to: stores[2])
    for fixture in fixtures {
      expectEqual(try fixture.store.state("x"), .deleted)
      try fixture.store.compact()
      expect(try !holdsCanary(fixture))
    }
    #expect(try Set(stores.map { try $0.summary("x") }).count == 1)
  }

  @Test func `the certificate of an erasure hides what comes later from before it`() throws {
    let clock = DayClock()
    let here = try StoreFixture(seed: 1, clock: clock)
    let away = try StoreFixture(seed: 2, clock: clock)
    try put(here.store)
    try here.store.send("x", to: away.store)
    clock.advance(days: 1)
    try erase(here.store)
    try clock.pass(days: 9, here.store)
    #expect(try here.store.memory() == Memory(records: 0, alive: 0, certificates: 1))
    try here.reopen()
    try away.store.send("x", to: here.store)
    #expect(try here.store.memory() == Memory(records: 0, alive: 0, certificates: 1))
    try away.store.put("x", ["n": .int(2)])
    try away.store.send("x", to: here.store)
    #expect(try here.store.fields("x", in: "cars") == ["n": .int(2)])
    try here.store.send("x", to: away.store)
    #expect(try away.store.fields("x", in: "cars") == ["n": .int(2)])
    try here.store.compact()
    try away.store.compact()
    #expect(try !holdsCanary(here))
    #expect(try !holdsCanary(away))
    #expect(try here.store.verify().isIntact)
  }

  @Test func `a later write elsewhere is reported where the document was erased`() throws {
    let clock = DayClock()
    let here = try StoreFixture(seed: 1, clock: clock)
    let away = try StoreFixture(seed: 2, clock: clock)
    try put(here.store)
    try here.store.send("x", to: away.store)
    try erase(here.store)
    clock.advance(days: 1)
    try away.store.put("x", ["n": .int(2)])
    try away.store.send("x", to: here.store)
    #expect(here.log.all.contains { $0.0 == .warning && $0.1.contains("was erased") })
    #expect(try here.store.fields("x", in: "cars") == ["n": .int(2)])
  }

  @Test func `the eviction of a document that was erased before keeps the floor`() throws {
    let clock = DayClock()
    let here = try StoreFixture(seed: 1, clock: clock)
    let away = try StoreFixture(seed: 2, clock: clock)
    try put(here.store)
    try here.store.send("x", to: away.store)
    try erase(here.store)
    clock.advance(days: 1)
    try here.store.put("x", ["n": .int(2)])
    try here.store.write { _ = try $0.evict(DocumentID("x"), in: "cars") }
    #expect(try here.store.memory() == Memory(records: 0, alive: 0, certificates: 1))
    try away.store.send("x", to: here.store)
    #expect(try here.store.state("x") == .deleted)
    try here.store.compact()
    #expect(try !holdsCanary(here))
    // What returns from a peer that knows the floor is no surprise.
    let third = try StoreFixture(seed: 3, clock: clock)
    clock.advance(days: 1)
    try here.store.put("x", ["n": .int(3)])
    try here.store.send("x", to: third.store)
    try here.store.write { _ = try $0.evict(DocumentID("x"), in: "cars") }
    try third.store.send("x", to: here.store)
    #expect(try here.store.fields("x", in: "cars") == ["n": .int(3)])
    #expect(!here.log.texts.contains { $0.contains("was erased") })
  }

  @Test func `a document that is not known here can be erased`() throws {
    let clock = DayClock()
    let here = try StoreFixture(seed: 1, clock: clock)
    let away = try StoreFixture(seed: 2, clock: clock)
    try put(away.store)
    clock.advance(days: 1)
    let wasHere = try here.store.write { try $0.erase(DocumentID("x"), in: "cars") }.0
    #expect(!wasHere)
    try away.store.send("x", to: here.store)
    #expect(try here.store.state("x") == .deleted)
    try here.store.send("x", to: away.store)
    #expect(try away.store.state("x") == .deleted)
    try away.store.compact()
    #expect(try !holdsCanary(away))
  }

  @Test func `one transaction cannot write a document and erase it`() throws {
    let fixture = try StoreFixture()
    let error = #expect(throws: StoreError.self) {
      try fixture.store.write { tx in
        _ = try tx.upsert(["n": .int(1)], id: DocumentID("x"), into: "cars")
        _ = try tx.erase(DocumentID("x"), in: "cars")
      }
    }
    #expect(error?.code == .removedInTransaction)
    #expect(try fixture.store.state("x") == .unknown)
  }

  @Test func `a rescued store knows its erasures`() throws {
    let clock = DayClock()
    let here = try StoreFixture(seed: 1, clock: clock)
    let away = try StoreFixture(seed: 2, clock: clock)
    try put(here.store)
    try here.store.send("x", to: away.store)
    try erase(here.store)
    try here.store.write { _ = try $0.evict(DocumentID("x"), in: "cars") }
    here.store.close()
    let target = here.directory.file("rescued")
    let report = try Store.rescue(from: here.path, to: target)
    #expect(report.certificateCount == 1)
    let rescued = try Store.open(at: target)
    defer { rescued.close() }
    clock.advance(days: 1)
    try away.store.put("x", ["n": .int(2)])
    try away.store.send("x", to: rescued)
    #expect(try rescued.fields("x", in: "cars") == ["n": .int(2)])
  }
}
