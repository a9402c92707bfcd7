import CRDTCore
import DocStore
import TestKit
import Testing

/// Indexes of small letters and of the elements of arrays.
@Suite struct IndexPartTests {
  private static let elements = IndexDefinition(
    name: "tags", collection: "cars",
    fields: [IndexField(["tags"], part: .elements), IndexField(["n"], descending: true)])
  private static let lowercase = IndexDefinition(
    name: "make", collection: "cars", fields: [IndexField(["make"], part: .lowercase)])

  @Test func `a document has a row for each different element, and none without`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.createIndex(Self.elements)
    try store.put("a", ["tags": .array([.string("x"), .string("y"), .string("x"), .int(1), .double(1)])])
    try store.put("b", ["tags": .array([.string("x"), .null, .array([.int(2)])])])
    try store.put("c", ["tags": .array([])])
    try store.put("d", ["tags": .string("x")])
    try store.put("e", ["n": .int(1)])
    try store.put("f", ["tags": .map(["k": .string("y")])])
    let x: [Value?] = [.string("x")]
    let y: [Value?] = [.string("y")]
    #expect(try store.ids(in: "tags", from: .before(x), to: .after(x)) == [.string("a"), .string("b")])
    #expect(try store.ids(in: "tags", from: .before(y), to: .after(y)) == [.string("a"), .string("f")])
    #expect(try store.indexes().map(\.rowCount) == [7])
    #expect(try store.indexFindings() == [])
    try store.write { tx in
      try tx.update(DocumentID("a"), in: "cars", [.set(["tags"], .array([.string("z"), .string("y")]))])
      try tx.remove(DocumentID("b"), in: "cars")
      try tx.evict(DocumentID("f"), in: "cars")
    }
    #expect(try store.ids(in: "tags") == [.string("a"), .string("a")])
    #expect(try store.indexes().map(\.rowCount) == [2])
    #expect(try store.verify().damages == [])
    try fixture.reopen()
    #expect(try fixture.store.indexes().map(\.definition) == [Self.elements])
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `strings stand in small letters, and what is no string is missing`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let makes: [Value?] = [.string("Ä"), .string("b"), .string("B"), .int(1), .null, nil]
    for (number, value) in makes.enumerated() {
      try store.put("\(number)", value.map { ["make": $0] } ?? [:])
    }
    try store.createIndex(Self.lowercase)
    let b: [Value?] = [.string("b")]
    #expect(try store.ids(in: "make", from: .before(b), to: .after(b)) == [.string("1"), .string("2")])
    #expect(
      try store.ids(in: "make") == ["1", "2", "0", "4", "3", "5"].map { .string($0) })
    #expect(try store.verify().damages == [])
  }

  @Test func `an index has the elements of one array`() throws {
    let fixture = try StoreFixture()
    let fields = [IndexField(["a"], part: .elements), IndexField(["b"], part: .elements)]
    #expect(
      code {
        try fixture.store.createIndex(IndexDefinition(name: "i", collection: "cars", fields: fields))
      } == .invalidIndex)
    let both = [IndexField(["a"]), IndexField(["a"], part: .elements), IndexField(["a"], part: .lowercase)]
    try fixture.store.createIndex(IndexDefinition(name: "i", collection: "cars", fields: both))
  }

  @Test(arguments: 1...6)
  func `rows of elements follow random writes, builds in slices and restarts`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let fixture = try StoreFixture(seed: seed) { $0.writerSlice = .zero }
    func array(_ random: inout SeededGenerator) -> Value {
      .array(
        (0..<random.int(below: 5)).map { _ in
          random.pick([
            .int(1), .double(1), .int(2), .string("A"), .string(String(repeating: "l", count: 255)),
          ])
        })
    }
    for round in 0..<20 {
      try fixture.store.write { tx in
        for number in 0..<60 where random.oneIn(2) {
          let id = try DocumentID(.int(Int64(number)))
          if random.oneIn(6) {
            try tx.remove(id, in: "cars")
          } else {
            let tags = random.oneIn(5) ? Value.string("A") : array(&random)
            try tx.upsert(
              ["tags": tags, "make": random.oneIn(2) ? tags : .string("Ab")], id: id, into: "cars")
          }
        }
      }
      if round == 3 { try fixture.store.createIndex(Self.elements) }
      if round == 5 { try fixture.store.createIndex(Self.lowercase) }
      if random.oneIn(5) { try fixture.reopen() }
      try expectEqual(fixture.store.indexFindings(), [], "seed \(seed)")
    }
    #expect(try fixture.store.verify().damages == [])
  }
}
