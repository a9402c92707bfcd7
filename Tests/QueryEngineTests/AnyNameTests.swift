import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// Names that are no words: with blanks, dots, backticks, or empty.
@Suite struct AnyNameTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let engine: Engine

  /// How each name is written in DQL after the collection's, and in the builder language.
  private static let names: [(name: String, dql: String, builder: String)] = [
    ("x y", "`x y`", "`x y`"), ("x y", "c['x y']", "['x y']"), ("a.b", "`a.b`", "`a.b`"),
    ("a.b", "c['a.b']", "['a.b']"), ("", "``", "``"), ("", "c['']", "['']"), ("a`b", "`a``b`", "[\"a`b\"]"),
    ("`", "````", "````"), ("true", "`true`", "`true`"), ("$args", "`$args`", "['$args']"),
    ("1st", "c[\"1st\"]", "[\"1st\"]"), ("it's", "c['it\\'s']", "['it\\'s']"), ("é 猫", "`é 猫`", "`é 猫`"),
    ("select", "`select`", "select"), ("*", "`*`", "['*']"),
  ]

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
  }

  private func rows(_ text: String) throws -> [[TextKey: Value]] {
    try engine.execute(text).rows.map { try $0.values() }
  }

  private func insert(_ name: String, _ value: Int64, id: Int64) throws {
    try store.write {
      try $0.upsert(
        [TextKey(name): .int(value), "m": .map([TextKey(name): .int(value)])], id: DocumentID(.int(id)),
        into: "c")
    }
  }

  @Test func `indexes and declared fields whose names are spelled alike are two`() throws {
    let names = ["caf\u{e9}", "cafe\u{301}"]
    for (number, name) in names.enumerated() {
      try insert(name, 1, id: Int64(number))
      _ = try engine.execute("CREATE INDEX `\(name)` ON c (`\(name)`)")
    }
    _ = try engine.execute("DROP INDEX `\(names[1])` ON c")
    let left = try store.read { snapshot in
      try snapshot.indexes(of: try #require(try snapshot.collection("c"))).map(\.definition.name)
    }
    #expect(left.map { TextKey($0) } == [TextKey(names[0])])
    _ = try engine.execute("CREATE INDEX IF NOT EXISTS `\(names[1])` ON c (`\(names[1])`)")
    #expect(try rows("SELECT COUNT(*) AS n FROM system:indexes") == [["n": .int(2)]])
    _ = try engine.execute("SELECT * FROM COLLECTION c (`\(names[0])` COUNTER, `\(names[1])` REGISTER)")
  }

  @Test(arguments: names)
  func `a field of any name is read, written, indexed and removed`(
    name: String, dql: String, builder: String
  ) throws {
    try insert(name, 1, id: 1)
    try insert(name, 2, id: 2)
    #expect(try rows("SELECT \(dql) FROM c WHERE \(dql) = 2") == [[TextKey(name): .int(2)]])
    #expect(try rows("SELECT \(dql) AS n FROM c ORDER BY \(dql) DESC") == [["n": .int(2)], ["n": .int(1)]])
    #expect(
      try rows("SELECT _id AS \(Backticks.quoted(name)) FROM c WHERE \(dql) > 1") == [
        [TextKey(name): .int(2)]
      ])
    let found = try engine.execute(
      .select(Select(collection: "c", predicate: Builder.parse("\(builder) == 2"))))
    #expect(found.rows.compactMap(\.id) == [DocumentID(trusted: try DocumentID(.int(2)).bytes)])
    _ = try engine.execute("UPDATE c SET \(dql) = 7 WHERE \(dql) = 2")
    let key = dql.hasPrefix("c[") ? Backticks.quoted(name) : dql
    _ = try engine.execute("CREATE INDEX i ON c (\(key))")
    #expect(try rows("SELECT _id FROM c WHERE \(dql) = 7") == [["_id": .int(2)]])
    #expect(try rows("EXPLAIN SELECT _id FROM c WHERE \(dql) = 7").description.contains("indexScan"))
    _ = try engine.execute("UPDATE c UNSET \(dql) WHERE \(dql) = 7")
    #expect(try rows("SELECT _id FROM c WHERE \(dql) IS MISSING") == [["_id": .int(2)]])
  }

  @Test(arguments: names)
  func `a key of any name inside a map is reached with a dot and with brackets`(
    name: String, dql: String, builder: String
  ) throws {
    try insert(name, 5, id: 1)
    let quoted = Expression.literal(.string(name)).description
    #expect(try rows("SELECT m.\(Backticks.quoted(name)) AS n FROM c") == [["n": .int(5)]])
    #expect(try rows("SELECT m[\(quoted)] AS n FROM c") == [["n": .int(5)]])
    _ = try engine.execute("UPDATE c SET m[\(quoted)] = 6")
    for text in ["m[\(quoted)] == 6", "m.\(Backticks.quoted(name)) == 6"] {
      let found = try engine.execute(.select(Select(collection: "c", predicate: Builder.parse(text))))
      expectEqual(found.rows.count, 1, "\(text)")
    }
  }

  @Test func `a name in brackets is the same field as one in backticks`() throws {
    #expect(try DQL.parseExpression("a['b.c']") == DQL.parseExpression("a.`b.c`"))
    #expect(try DQL.parseExpression("a['b.c']") != DQL.parseExpression("a.b.c"))
    #expect(try Builder.parse("['a'].b") == Builder.parse("a.b"))
  }
}

/// A name in backticks, whatever it is.
private enum Backticks {
  static func quoted(_ name: String) -> String {
    "`" + name.split(separator: "`", omittingEmptySubsequences: false).joined(separator: "``") + "`"
  }
}
