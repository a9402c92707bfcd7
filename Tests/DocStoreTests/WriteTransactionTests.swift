import CRDTCore
import DocStore
import TestKit
import Testing

@Suite struct WriteTransactionTests {
  private struct Stop: Error {}

  @Test func `reads its own writes, and others do not until it is committed`() throws {
    let fixture = try StoreFixture()
    try fixture.store.put("a", ["n": .int(1)])
    let store = fixture.store
    try store.write { tx in
      try tx.upsert(["n": .int(2), "new": .bool(true)], id: DocumentID("a"), into: "cars")
      let cars = try #require(try tx.collection("cars"))
      let fields = try tx.withRecord(cars, DocumentID("a")) { record, _ in try record.fields(cars.keys) }
      #expect(fields == ["n": .int(2), "new": .bool(true)])
      #expect(try store.fields("a", in: "cars") == ["n": .int(1)])
    }
    #expect(try store.fields("a", in: "cars") == ["n": .int(2), "new": .bool(true)])
  }

  @Test func `a body that throws leaves nothing behind: documents, counts, names, sequence`() throws {
    let fixture = try StoreFixture()
    let receipt = try fixture.store.put("a", ["n": .int(1)])
    #expect(throws: Stop.self) {
      try fixture.store.write { tx in
        try tx.upsert(["n": .int(2), "fresh": .int(3)], id: DocumentID("a"), into: "cars")
        try tx.upsert([:], id: DocumentID("b"), into: "boats")
        throw Stop()
      }
    }
    func check() throws {
      #expect(try fixture.store.fields("a", in: "cars") == ["n": .int(1)])
      try fixture.store.read { tx in
        #expect(tx.sequence == receipt.sequence)
        #expect(tx.commitID == receipt.id)
        let (boats, cars) = (try tx.collection("boats"), try tx.collection("cars"))
        let counts = try tx.collections().map(\.documentCount)
        #expect(boats == nil)
        #expect(counts == [1])
        #expect(cars?.keys.names == ["n"])
      }
    }
    try check()
    try fixture.reopen()
    try check()
  }

  @Test func `a transaction that changes nothing has no place in the log`() throws {
    let fixture = try StoreFixture()
    try fixture.store.put("a", ["n": .int(1)])
    let (changed, receipt) = try fixture.store.write { tx in
      try [
        tx.update(DocumentID("nobody"), in: "cars", [.set(["n"], .int(1))]),
        tx.update(DocumentID("nobody"), in: "nowhere", [.set(["n"], .int(1))]),
        tx.remove(DocumentID("nobody"), in: "cars"),
        tx.evict(DocumentID("nobody"), in: "cars"),
        tx.evict(DocumentID("nobody"), in: "nowhere"),
      ]
    }
    #expect(!changed.contains(true))
    #expect(receipt == CommitReceipt())
    try fixture.store.write {
      try $0.upsert(["n": .int(5)], id: DocumentID("a"), into: "cars", strategy: .insertIfAbsent)
    }
    #expect(try fixture.store.fields("a", in: "cars") == ["n": .int(1)])
    #expect(try fixture.store.read { $0.sequence } == 1)
    #expect(try fixture.store.read { try $0.collection("nowhere") } == nil)
  }

  @Test func `a collection comes into being with its first document, not with a write that came to nothing`()
    throws
  {
    let fixture = try StoreFixture()
    let deep = (0..<70).reduce(Value.int(1)) { value, _ in .array([value]) }
    try fixture.store.write { tx in
      #expect(code { try tx.upsert(["deep": deep], into: "cars") } == .document)
      let (cars, infos) = (try tx.collection("cars"), try tx.collections())
      #expect(cars == nil)
      #expect(infos.isEmpty)
      try tx.upsert(["n": .int(1)], id: DocumentID("a"), into: "boats")
    }
    try fixture.reopen()
    #expect(try fixture.store.read { try $0.collections() }.map(\.name) == ["boats"])
    #expect(try fixture.store.fields("a", in: "boats") == ["n": .int(1)])
  }

  @Test func `updates edit a living document, removal leaves a tombstone, and upserts revive it`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let id = try DocumentID("a")
    try store.put("a", ["n": .int(1), "gone": .bool(true)])
    #expect(
      try store.write { try $0.update(id, in: "cars", [.increment(["hits"], 2), .remove(["gone"])]) }.0)
    #expect(try store.fields("a", in: "cars") == ["n": .int(1), "hits": .counter(2)])
    #expect(try store.write { try $0.remove(id, in: "cars") }.0)
    #expect(try store.fields("a", in: "cars") == nil)
    let isTombstone = try store.read { tx in
      try tx.withRecord(try #require(try tx.collection("cars")), id) { record, _ in !record.isAlive }
    }
    #expect(isTombstone == true)
    #expect(try store.write { try $0.update(id, in: "cars", [.set(["n"], .int(9))]) }.0 == false)
    #expect(try store.write { try $0.remove(id, in: "cars") }.0 == false)
    #expect(try store.count(in: "cars") == 0)
    try store.put("a", ["m": .int(2)])
    #expect(try store.fields("a", in: "cars") == ["m": .int(2)])
    #expect(try store.count(in: "cars") == 1)
  }

  @Test(arguments: [false, true])
  func `removing and upserting one document in one transaction writes nothing, though the body goes on`(
    upsertFirst: Bool
  ) throws {
    let fixture = try StoreFixture()
    try fixture.store.put("a", ["n": .int(1)])
    let id = try DocumentID("a")
    let caught = code {
      try fixture.store.write { tx in
        try tx.upsert([:], id: DocumentID("other"), into: "cars")
        let inside = code {
          if upsertFirst { try tx.upsert(["n": .int(2)], id: id, into: "cars") }
          try tx.remove(id, in: "cars")
          try tx.upsert(["n": .int(3)], id: id, into: "cars")
        }
        #expect(inside == .removedInTransaction)
      }
    }
    #expect(caught == .removedInTransaction)
    #expect(try fixture.store.fields("a", in: "cars") == ["n": .int(1)])
    #expect(try fixture.store.count(in: "cars") == 1)
    try fixture.store.write { tx in
      try tx.update(id, in: "cars", [.set(["n"], .int(4))])
      try tx.remove(id, in: "cars")
    }
    #expect(try fixture.store.count(in: "cars") == 0)
  }

  @Test func `refuses a nested write at once, and the outer one goes on`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.write { tx in
      #expect(code { try store.write { _ in } } == .nestedWriteTransaction)
      try tx.upsert([:], id: DocumentID("a"), into: "cars")
      #expect(code { try store.write { _ in } } == .nestedWriteTransaction)
    }
    #expect(try store.count(in: "cars") == 1)
  }

  @Test func `a listener that writes by waiting is refused at once`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let codes = LogLines()
    let listener = store.onCommit { _ in
      codes.append(.debug, code { try store.write { _ in } }?.rawValue ?? "none")
    }
    try store.put("a", [:])
    listener.cancel()
    #expect(codes.texts == ["nestedWriteTransaction"])
  }

  @Test func `two stores may write inside each other`() throws {
    let (a, b) = (try StoreFixture(seed: 1), try StoreFixture(seed: 2))
    try a.store.write { tx in
      try tx.upsert([:], id: DocumentID("x"), into: "cars")
      try b.store.put("y", [:])
    }
    #expect(try a.store.count(in: "cars") == 1)
    #expect(try b.store.count(in: "cars") == 1)
  }

  @Test func `a write while a record is read in place is refused`() throws {
    let fixture = try StoreFixture()
    try fixture.store.put("a", ["n": .int(1)])
    let id = try DocumentID("a")
    try fixture.store.write { tx in
      let cars = try #require(try tx.collection("cars"))
      _ = try tx.withRecord(cars, id) { _, _ in
        #expect(code { try tx.remove(id, in: "cars") } == .writeInsideRead)
        #expect(code { try tx.evict(id, in: "cars") } == .writeInsideRead)
      }
      try tx.forEachRecord(in: cars) { _, _, _ in
        #expect(code { try tx.upsert(["n": .int(2)], id: id, into: "cars") } == .writeInsideRead)
        return true
      }
      try tx.upsert(["n": .int(3)], id: id, into: "cars")
    }
    #expect(try fixture.store.fields("a", in: "cars") == ["n": .int(3)])
  }

  @Test func `is of no use outside its body`() throws {
    let fixture = try StoreFixture()
    var leaked: WriteTransaction?
    try fixture.store.write { leaked = $0 }
    let transaction = try #require(leaked)
    #expect(code { try transaction.upsert([:], into: "cars") } == .closed)
    #expect(code { try transaction.collections() } == .closed)
  }

  @Test func `documents without an id get one that sorts after those made before`() throws {
    let fixture = try StoreFixture()
    let ids = try fixture.store.write { tx in try (0..<1_000).map { _ in try tx.upsert([:], into: "cars") } }
      .0
    #expect(ids == ids.sorted())
    #expect(Set(ids).count == ids.count)
    for id in ids {
      guard case .string(let text) = id.value else {
        Issue.record("the id is not a string")
        return
      }
      expectEqual(text.count, 26)
    }
    try fixture.reopen()
    let later = try fixture.store.write { try $0.upsert(["_id": .int(7), "a": .null], into: "cars") }.0
    #expect(later.value == .int(7))
    #expect(try fixture.store.count(in: "cars") == 1_001)
  }

  @Test(arguments: ["", "__system", String(repeating: "x", count: 101), "a\0b"])
  func `refuses names that no collection may have`(name: String) throws {
    let fixture = try StoreFixture()
    #expect(code { try fixture.store.write { try $0.upsert([:], into: name) } } == .invalidCollectionName)
    #expect(try fixture.store.read { try $0.collections() }.isEmpty)
  }

  @Test func `takes names of 1 to 100 bytes`() throws {
    let fixture = try StoreFixture()
    for name in ["x", String(repeating: "é", count: 50)] { try fixture.store.put("a", [:], into: name) }
    #expect(try fixture.store.read { try $0.collections() }.count == 2)
  }

  @Test func `refuses ids and values that no document may have`() throws {
    let fixture = try StoreFixture()
    func refusal(_ fields: [TextKey: Value]) -> DocumentError.Code? {
      do {
        try fixture.store.write { try $0.upsert(fields, into: "cars") }
        return nil
      } catch {
        return (error as? StoreError)?.document?.code
      }
    }
    #expect(refusal(["_id": .null]) == .invalidID)
    #expect(refusal(["_id": .double(1)]) == .invalidID)
    #expect(refusal(["_id": .string(String(repeating: "x", count: 256))]) == .invalidID)
    #expect(refusal(["_id": .string(String(repeating: "x", count: 255))]) == nil)
    let deep = (0..<70).reduce(Value.int(1)) { value, _ in .array([value]) }
    #expect(refusal(["deep": deep]) == .depth)
    #expect(try fixture.store.count(in: "cars") == 1)
  }
}
