import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// Values that are too long for a key of an index: what is apart by value can stand under one key.
@Suite struct LongKeyTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let engine: Engine

  private static let prefix = "https://example.org/" + String(repeating: "path/", count: 60)
  private static let pages = ["a", "b", "c"].map { prefix + $0 }

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
    _ = try store.write { transaction in
      for (number, page) in Self.pages.enumerated() {
        try transaction.upsert(
          [
            "u": .string(page), "k": .int(1), "n": .int(1),
            "l": .array([.string(page), .string(Self.prefix)]),
          ], id: DocumentID(.int(Int64(number))), into: "c")
      }
    }
  }

  private static let indexes: [[IndexField]] = [
    [IndexField(["u"])], [IndexField(["u"], descending: true)], [IndexField(["k"]), IndexField(["u"])],
    [IndexField(["u"]), IndexField(["n"])], [IndexField(["u"], part: .lowercase)],
  ]

  private func create(_ fields: [IndexField]) throws {
    try store.createIndex(IndexDefinition(name: "i", collection: "c", fields: fields))
  }

  private func rows(_ statement: String) throws -> [[TextKey: Value]] {
    let arguments: [TextKey: Value] = [
      "u": Value.string(Self.pages[1]), "l": .array(Self.pages.map { .string($0) }),
    ]
    return try engine.execute(statement, arguments: arguments).rows.map { try $0.values() }
  }

  @Test(arguments: indexes) func `a row leaves an access path once`(fields: [IndexField]) throws {
    try create(fields)
    let column = fields.contains { $0.part == .lowercase } ? "lower(u)" : "u"
    let filter = "k = 1 AND \(column) != :u"
    let ids = try rows("SELECT _id FROM c USE INDEX 'i' WHERE \(filter)")
    #expect(Set(ids) == [["_id": .int(0)], ["_id": .int(2)]] && ids.count == 2)
    #expect(
      try rows("SELECT COUNT(*) AS n, SUM(n) AS s FROM c USE INDEX 'i' WHERE \(filter)")
        == [["n": .int(2), "s": .int(2)]])
    #expect(try rows("SELECT COUNT(*) AS n FROM c USE INDEX 'i' WHERE \(filter)") == [["n": .int(2)]])
    #expect(
      try rows("SELECT COUNT(*) AS n FROM c USE INDEX 'i' WHERE k = 1 AND \(column) IN :l") == [
        ["n": .int(3)]
      ])
    for (direction, pages) in [("ASC", [0, 2]), ("DESC", [2, 0])] {
      try expectEqual(
        rows("SELECT u FROM c USE INDEX 'i' WHERE \(filter) ORDER BY u \(direction)"),
        pages.map { ["u": .string(Self.pages[$0])] })
      try expectEqual(
        rows("SELECT * FROM c USE INDEX 'i' WHERE \(filter) ORDER BY u \(direction) LIMIT 2")
          .map { $0["u"] }, pages.map { .string(Self.pages[$0]) })
    }
    let live = try LiveQuery(
      dql: "SELECT _id FROM c WHERE \(filter) ORDER BY u LIMIT 5", arguments: ["u": .string(Self.pages[1])])
    var observed = live
    #expect(try observed.start(engine).map { try $0.values()["_id"] } == [.int(0), .int(2)])
    _ = try rows("UPDATE c USE INDEX 'i' APPLY n INCREMENT BY 1 WHERE \(filter)")
    #expect(
      try rows("SELECT _id, n FROM c ORDER BY _id").map { $0["n"] } == [.counter(2), .int(1), .counter(2)])
    #expect(
      try engine.execute(
        "DELETE FROM c WHERE k = 1 AND \(column) IN :l",
        arguments: ["l": .array(Self.pages.map { .string($0) })]
      )
      .mutatedDocumentIDs.count == 3)
  }

  @Test func `ranges that begin and end in one key are one`() throws {
    try create([IndexField(["u"])])
    for filter in ["u < :u OR u > :u", "u NOT IN [:u, 'x']", "NOT (u BETWEEN :u AND :u)"] {
      try expectEqual(
        rows("SELECT COUNT(*) AS n FROM c USE INDEX 'i' WHERE \(filter)"), [["n": .int(2)]], "\(filter)")
      try expectEqual(
        rows("SELECT SUM(n) AS n FROM c USE INDEX 'i' WHERE \(filter)"), [["n": .int(2)]], "\(filter)")
    }
  }

  @Test func `elements that share a beginning count once`() throws {
    try create([IndexField(["l"], part: .elements)])
    for filter in [
      "ANY x IN l SATISFIES x IN :l END", "array_contains(l, :u)", "ANY x IN l SATISFIES x != :u END",
    ] {
      let count = filter.contains("array_contains") ? 1 : 3
      try expectEqual(
        rows("SELECT COUNT(*) AS n FROM c USE INDEX 'i' WHERE \(filter)"), [["n": .int(Int64(count))]],
        "\(filter)")
    }
  }

  @Test(arguments: [false, true]) func `an index reader visits the rows of several spans once`(reversed: Bool)
    throws
  {
    try create([IndexField(["u"])])
    let spans = Self.pages.map { IndexSpan.equal([.string($0)]) }
    try store.read { transaction in
      let collection = try #require(try transaction.collection("c"))
      let index = try #require(try transaction.readyIndexes(of: collection).first)
      var found: [DocumentNumber] = []
      try transaction.withIndex(index, of: collection) { reader in
        try reader.forEachRow(in: spans, reversed: reversed) { row in
          found.append(row.document)
          return true
        }
      }
      #expect(found.count == 3 && Set(found).count == 3)
    }
  }
}
