import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@Suite struct IndexOrderTests {
  private static let edges: [Value?] = [
    nil, .null, .bool(false), .bool(true), .double(.nan), .double(-.infinity), .double(.infinity),
    .double(-0.0), .double(0), .int(0), .int(.min), .int(.max), .int(.min + 1), .double(9.3e18),
    .double(0x1p63), .double(-0x1p63), .double(0x1p63.nextDown), .double((-0x1p63).nextUp), .int(.max - 1),
    .int(1 << 53), .int(1 << 53 + 1), .int(-(1 << 53) - 1), .double(0x1p53), .double(-0x1p53),
    .double(.leastNonzeroMagnitude), .double(-.leastNonzeroMagnitude), .double(.greatestFiniteMagnitude),
    .string(""), .string("\u{0}"), .string("\u{0}\u{0}"), .string("a"), .string("a\u{0}"),
    .string("a\u{0}b"), .string("a\u{1}"), .string("a\u{2}"), .string("a\u{0}\u{1}"),
    .string("a\u{1}\u{0}"), .string("abcdefghi"), .string("\u{10FFFF}"), .bytes([]),
    .bytes([0]), .bytes([0, 255]), .bytes([0, 0]), .bytes([255]), .bytes([255, 255]), .counter(3),
    .array([]), .array([.array([])]), .array([.null]), .array([.string(""), .null]),
    .array([.string("\u{0}")]), .array([.int(1), .int(2)]), .array([.int(1)]), .map([:]), .map(["": .null]),
    .map(["a": .int(1)]), .map(["a": .int(1), "b": .null]), .map(["a\u{0}": .int(1)]),
    .attachment(AttachmentToken(id: [1], byteCount: 1)),
    .attachment(AttachmentToken(id: [1], byteCount: 300)),
    .attachment(AttachmentToken(id: [1], byteCount: 1, metadata: ["a": "b"])),
    .attachment(AttachmentToken(id: [1, 0], byteCount: 0)),
  ]

  private struct Item {
    let number: Int
    let id: DocumentID
    let values: [Value?]
  }

  /// A store with an index over `a` and `b`, and what is in it.
  private final class Fixture {
    let directory: TemporaryDirectory
    let store: Store
    let items: [Item]

    init(_ values: [[Value?]], _ fields: [IndexField]) throws {
      directory = try TemporaryDirectory()
      store = try Store.open(at: directory.file("db"))
      let names = fields.map { $0.path[0] }
      items = try values.enumerated().map { number, values in
        Item(number: number, id: try DocumentID("\(number)"), values: values)
      }
      try store.write { tx in
        for item in items {
          var fields: [TextKey: Value] = [:]
          for (name, value) in zip(names, item.values) { fields[name] = value }
          try tx.upsert(fields, id: item.id, into: "things")
        }
      }
      try store.createIndex(IndexDefinition(name: "x", collection: "things", fields: fields))
    }

    deinit { store.close() }

    func rows(from: IndexBound? = nil, to: IndexBound? = nil, reversed: Bool = false) throws -> [(
      id: DocumentID, isCut: Bool
    )] {
      try store.read { tx in
        guard let collection = try tx.collection("things"),
          let index = try tx.indexes(of: collection).first
        else { return [] }
        var found: [(DocumentID, Bool)] = []
        try tx.forEachRow(in: index, from: from, to: to, reversed: reversed) { row in
          let id = try tx.withRecord(numbered: row.document, in: collection) { id, _, _ in
            try DocumentID(validating: id)
          }
          found.append((try #require(id), row.isCut))
          return true
        }
        return found
      }
    }
  }

  private static func isOrdered(_ left: Item, _ right: Item, _ fields: [IndexField]) -> Bool {
    for (place, field) in fields.enumerated() {
      let order = SortOrder.compare(left.values[place], right.values[place])
      if order != 0 { return (order < 0) != field.isDescending }
    }
    // They were written in this order.
    return left.number < right.number
  }

  @Test(arguments: [(false, false), (false, true), (true, false), (true, true)])
  func `rows stand in the order that queries sort by`(first: Bool, second: Bool) throws {
    var queries = RandomQueries(seed: 11)
    var pairs: [[Value?]] = Self.edges.flatMap { edge in [[edge, .int(1)], [.string("s"), edge]] }
    for _ in 0..<1_500 {
      pairs.append([
        queries.random.oneIn(8) ? queries.random.pick(Self.edges) : queries.value(depth: 2),
        queries.random.oneIn(8) ? queries.random.pick(Self.edges) : queries.value(depth: 1),
      ])
    }
    let fields = [IndexField(["a"], descending: first), IndexField(["b"], descending: second)]
    let fixture = try Fixture(pairs, fields)
    let expected = fixture.items.sorted { Self.isOrdered($0, $1, fields) }.map(\.id)
    let rows = try fixture.rows()
    #expect(rows.allSatisfy { !$0.isCut })
    #expect(rows.map(\.id) == expected)
    #expect(try fixture.rows(reversed: true).map(\.id) == expected.reversed())
  }

  @Test(arguments: [false, true])
  func `bounds take in what compares so, in both directions`(descending: Bool) throws {
    var queries = RandomQueries(seed: 12)
    let values = Self.edges + (0..<400).map { _ in queries.value(depth: 1) }
    let fields = [IndexField(["a"], descending: descending), IndexField(["b"])]
    let fixture = try Fixture(values.map { [$0, .int(Int64(queries.random.int(below: 3)))] }, fields)
    let sorted = fixture.items.sorted { Self.isOrdered($0, $1, fields) }
    for bound in Self.edges {
      func side(_ item: Item) -> Int {
        let order = SortOrder.compare(item.values[0], bound)
        return descending ? -order : order
      }
      let equal = try fixture.rows(from: .before([bound]), to: .after([bound])).map(\.id)
      expectEqual(equal, sorted.filter { side($0) == 0 }.map(\.id), "\(String(describing: bound))")
      let below = try fixture.rows(to: .before([bound]), reversed: true).map(\.id)
      expectEqual(below, sorted.filter { side($0) < 0 }.map(\.id).reversed(), "\(String(describing: bound))")
      let above = try fixture.rows(from: .after([bound])).map(\.id)
      expectEqual(above, sorted.filter { side($0) > 0 }.map(\.id), "\(String(describing: bound))")
      let both = try fixture.rows(from: .before([bound, .int(1)]), to: .after([bound, .int(1)])).map(\.id)
      expectEqual(both, sorted.filter { side($0) == 0 && $0.values[1] == .int(1) }.map(\.id))
    }
  }

  @Test(arguments: [false, true])
  func `long values keep their order as far as their row tells, and no bound loses one`(descending: Bool)
    throws
  {
    var random = SeededGenerator(seed: 13)
    var values: [[Value?]] = []
    for _ in 0..<600 {
      let length = random.pick([0, 1, 246, 247, 248, 249, 250, 251, 252, 253, 300, 5_000])
      var text = String(repeating: random.pick(["a", "b", "\u{0}"]), count: length)
      text += random.pick(["", "x", "y", "\u{0}"])
      let value: Value = random.oneIn(5) ? .array([.string(text), .int(1)]) : .string(text)
      values.append([value, random.pick([.null, .int(3), .string("zz")])])
    }
    let fields = [IndexField(["a"], descending: descending), IndexField(["b"])]
    let fixture = try Fixture(values, fields)
    let rows = try fixture.rows()
    #expect(rows.count == values.count)
    #expect(Set(rows.map(\.isCut)).count == 2)
    let items = Dictionary(uniqueKeysWithValues: fixture.items.map { ($0.id, $0) })
    for (left, right) in zip(rows, rows.dropFirst()) where !(left.isCut && right.isCut) {
      let (left, right) = (try #require(items[left.id]), try #require(items[right.id]))
      expect(Self.isOrdered(left, right, fields))
    }
    for item in fixture.items.prefix(100) {
      let bound = [item.values[0]]
      let found = try fixture.rows(from: .before(bound), to: .after(bound))
      let equal = fixture.items.filter { SortOrder.compare($0.values[0], bound[0]) == 0 }
      expect(Set(equal.map(\.id)).isSubset(of: Set(found.map(\.id))))
      // Only cut rows may be there without being equal.
      expect(found.filter { !$0.isCut }.allSatisfy { row in equal.contains { $0.id == row.id } })
      let above = try fixture.rows(from: .after(bound)).map(\.id)
      let greater = fixture.items.filter {
        let order = SortOrder.compare($0.values[0], bound[0])
        return descending ? order < 0 : order > 0
      }
      expect(Set(greater.map(\.id)).isSubset(of: Set(above)))
    }
  }
}
