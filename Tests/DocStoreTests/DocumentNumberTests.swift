import CRDTCore
import DocStore
import TestKit
import Testing

/// Documents stand under numbers of the store's own, and are found by their ids all the same.
@Suite struct DocumentNumberTests {
  private let fixture: StoreFixture
  private var store: Store { fixture.store }

  init() throws {
    fixture = try StoreFixture()
    for id in ["k5", "k1", "k9"] { try fixture.store.put(id, ["v": .string("of \(id)")]) }
  }

  /// The documents of `cars` in the store's own order.
  private func stored(_ from: DocumentNumber? = nil) throws -> [(number: DocumentNumber, id: Value)] {
    try store.read { tx in
      var found: [(DocumentNumber, Value)] = []
      let cars = try #require(try tx.collection("cars"))
      try tx.forEachStoredRecord(in: cars, from: from, verify: true) { number, id, _, record in
        #expect(try record.fields(cars.keys)["v"] != nil)
        found.append((number, try DocumentID(validating: id).value))
        return true
      }
      return found
    }
  }

  private func ids() throws -> [Value] {
    try store.read { tx in
      var found: [Value] = []
      try tx.forEachRecord(in: try #require(try tx.collection("cars")), verify: true) { id, _, _ in
        found.append(try DocumentID(validating: id).value)
        return true
      }
      return found
    }
  }

  /// An entry of the tables of ids, as its bytes stand in the file.
  private func entry(_ id: String, _ number: UInt8) throws -> [UInt8] {
    try [1] + DocumentID(id).bytes + [number]
  }

  @Test func `documents are scanned as they came or by their ids, and keep their numbers`() throws {
    #expect(try stored().map(\.id) == ["k5", "k1", "k9"].map(Value.string))
    #expect(try ids() == ["k1", "k5", "k9"].map(Value.string))
    let numbers = try stored().map(\.number)
    #expect(numbers == numbers.sorted())
    try store.put("k5", ["v": .int(2)])
    try store.put("k3", ["v": .int(3)], into: "boats")
    try store.compact()
    #expect(try stored().map(\.number) == numbers)
    #expect(try stored(numbers[1]).map(\.id) == ["k1", "k9"].map(Value.string))
    try fixture.reopen()
    try store.write { tx in
      let cars = try #require(try tx.collection("cars"))
      let id = try tx.withRecord(numbered: numbers[2], in: cars) { id, _, _ in
        try DocumentID(validating: id).value
      }
      #expect(id == .string("k9"))
      _ = try tx.evict(DocumentID("k9"), in: "cars")
      #expect(try tx.withRecord(numbered: numbers[2], in: cars) { _, _, _ in true } == nil)
    }
    #expect(try store.verify().damages == [])
  }

  @Test func `a document that comes back has a new number, and a failed transaction uses none up`() throws {
    struct Stop: Error {}
    let last = try #require(try stored().last?.number)
    try store.write { _ = try $0.evict(DocumentID("k9"), in: "cars") }
    #expect(throws: Stop.self) {
      try store.write { tx in
        try tx.upsert(["v": .int(0)], id: DocumentID("lost"), into: "cars")
        throw Stop()
      }
    }
    try store.put("k9", ["v": .int(1)])
    #expect(try stored().last?.number.rawValue == last.rawValue + 1)
    #expect(try stored().count == 3)
    #expect(try store.verify().damages == [])
  }

  @Test func `a group lists the members that are here`() throws {
    try store.write { tx in
      for id in ["x", "k5", "a"] { try tx.upsert(["v": .int(7)], id: DocumentID(id), into: "cars") }
      try tx.upsert(["v": .int(7)], id: DocumentID("b"), into: "boats")
    }
    func members() throws -> [String] {
      var found: [String] = []
      try store.read { tx in
        try tx.groups(after: 0) { _, members in
          found += members.map { "\($0.collection) \($0.id.value)" }
          return true
        }
      }
      return found
    }
    let all = try [(1, "k5"), (1, "x"), (1, "a"), (2, "b")].map { "\($0) \(try DocumentID($1).value)" }
    #expect(try members() == all)
    try store.write { _ = try $0.evict(DocumentID("x"), in: "cars") }
    try store.put("x", ["v": .int(8)])
    #expect(try members() == all.filter { $0 != all[1] })
    #expect(try store.verify().damages == [])
  }

  @Test func `an id that leads to another document is damage, and evicting it makes the store whole`() throws
  {
    var replaced = 0
    try fixture.reopen {
      replaced = try FileDamage.replace(entry("k1", 2), by: entry("k1", 3), at: fixture.dataPath)
    }
    #expect(replaced > 0)
    #expect(code { try store.fields("k1", in: "cars") } == .corrupt)
    #expect(code { try ids() } == .corrupt)
    #expect(code { try store.put("k1", ["v": .int(1)]) } == .corrupt)
    #expect(try store.fields("k9", in: "cars") == ["v": .string("of k9")])
    #expect(try stored().map(\.id) == ["k5", "k1", "k9"].map(Value.string))
    let digits = try DocumentID("k1").bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let damages = try store.verify().damages
    #expect(damages.contains { $0.id == digits && $0.collection == "cars" })
    #expect(try store.write { try $0.evict(DocumentID("k1"), in: "cars") }.0)
    #expect(try ids() == ["k5", "k9"].map(Value.string))
    #expect(try store.verify().damages == [])
  }

  @Test func `a damaged id is noticed, and evicting what is reported makes the store whole`() throws {
    var replaced = 0
    try fixture.reopen {
      replaced = try FileDamage.replace(entry("k1", 2), by: entry("k3", 2), at: fixture.dataPath)
    }
    #expect(replaced > 0)
    #expect(code { try store.fields("k3", in: "cars") } == .corrupt)
    #expect(code { try ids() } == .corrupt)
    let damages = try store.verify().damages
    #expect(!damages.isEmpty)
    for id in ["k3", "k1"] { try expect(store.write { try $0.evict(DocumentID(id), in: "cars") }.0) }
    #expect(try store.verify().damages == [])
    try store.put("k1", ["v": .int(1)])
    #expect(try ids() == ["k1", "k5", "k9"].map(Value.string))
    #expect(try store.verify().damages == [])
  }
}
