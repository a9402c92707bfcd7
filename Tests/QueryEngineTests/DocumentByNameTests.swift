import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// The name or the alias of a statement's only source alone, which is its document.
@Suite struct DocumentByNameTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let engine: Engine

  private static let volvo: [TextKey: Value] = [
    "_id": .string("c1"), "make": .string("Volvo"), "km": .int(5), "cars": .int(7),
    "tags": .array([.string("city")]),
  ]
  private static let saab: [TextKey: Value] = ["_id": .string("c2"), "make": .string("Saab")]

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
    _ = try engine.execute(
      "INSERT INTO cars DOCUMENTS (:a), (:b)", arguments: ["a": .map(Self.volvo), "b": .map(Self.saab)])
  }

  private func rows(_ text: String) throws -> [[TextKey: Value]] {
    try engine.execute(text).rows.map { try $0.values() }
  }

  @Test(arguments: [
    ("SELECT cars FROM cars WHERE _id = 'c2'", ["cars": Value.map(saab)]),
    ("SELECT cars FROM cars WHERE cars.cars = 7", ["cars": .map(volvo)]),
    ("SELECT c FROM cars c WHERE c._id = 'c2'", ["c": .map(saab)]),
    ("SELECT c FROM cars AS c WHERE c.cars IS NOT MISSING", ["c": .map(volvo)]),
    ("SELECT cars AS d FROM cars USE IDS 'c2'", ["d": .map(saab)]),
    ("SELECT cars.cars FROM cars WHERE cars.km = 5", ["cars": .int(7)]),
    ("SELECT cars AS n FROM cars c WHERE c.km = 5", ["n": .int(7)]),
    (
      "SELECT object_length(cars) AS n, type(cars) AS t FROM cars WHERE _id = 'c2'",
      ["n": .int(2), "t": .string("object")]
    ),
    (
      "SELECT [c, c.make] AS a FROM cars c WHERE object_length(c) < 3",
      ["a": .array([.map(saab), .string("Saab")])]
    ),
    ("SELECT _id FROM cars WHERE cars = {'_id': 'c2', 'make': 'Saab'}", ["_id": .string("c2")]),
    ("SELECT _id FROM cars c WHERE c IN [{'make': 'Saab', '_id': 'c2'}]", ["_id": .string("c2")]),
    ("SELECT COUNT(cars) AS n, COUNT(DISTINCT cars) AS d FROM cars", ["n": .int(2), "d": .int(2)]),
    ("SELECT c, COUNT(*) AS n FROM cars c WHERE make = 'Saab' GROUP BY c", ["c": .map(saab), "n": .int(1)]),
    ("SELECT DISTINCT c FROM cars c WHERE make = 'Saab' ORDER BY c", ["c": .map(saab)]),
    ("SELECT make FROM cars ORDER BY object_length(cars) LIMIT 1", ["make": .string("Saab")]),
    ("SELECT make AS cars FROM cars ORDER BY cars LIMIT 1", ["cars": .string("Saab")]),
    ("SELECT make FROM cars WHERE ANY v IN cars SATISFIES v = 5 END", ["make": .string("Volvo")]),
    ("SELECT COUNT(*) AS n FROM cars WHERE ANY cars IN [1] SATISFIES cars = 1 END", ["n": .int(2)]),
    ("SELECT d FROM system:dual d", ["d": .map([:])]),
    ("UPDATE cars SET copy = cars WHERE _id = 'c2' RETURNING copy", ["copy": .map(saab)]),
    ("UPDATE cars c SET n = object_length(c) WHERE c.make = 'Saab' RETURNING n", ["n": .int(2)]),
    ("UPDATE cars SET cars = 8 WHERE cars.cars = 7 RETURNING cars.cars AS n", ["n": .int(8)]),
    ("DELETE FROM cars c WHERE c = {'_id': 'c2', 'make': 'Saab'} RETURNING c", ["c": .map(saab)]),
    ("EVICT FROM cars ORDER BY object_length(cars) LIMIT 1 RETURNING cars", ["cars": .map(saab)]),
  ])
  func `the name alone is the document, and a field of the name follows it`(
    text: String, row: [TextKey: Value]
  ) throws {
    #expect(try rows(text) == [row], "\(text)")
  }

  @Test func `indexes find the documents, and rows of an index do not stand for them`() throws {
    _ = try engine.execute("CREATE INDEX by_make ON cars (make)")
    _ = try engine.execute("CREATE INDEX by_tag ON cars (tags[*])")
    #expect(try rows("SELECT c FROM cars c WHERE c.make = 'Saab'") == [["c": .map(Self.saab)]])
    #expect(try rows("SELECT COUNT(c) AS n FROM cars c WHERE c.make > 'A'") == [["n": .int(2)]])
    #expect(
      try rows("SELECT _id FROM cars WHERE ANY t IN tags SATISFIES cars.make = 'Volvo' AND t = 'city' END")
        == [["_id": .string("c1")]])
    #expect(
      try rows("SELECT make FROM cars WHERE ANY t IN tags SATISFIES cars != 'rust' OR t = 'city' END")
        == [["make": .string("Volvo")]])
    #expect(
      try rows(
        "SELECT make FROM cars WHERE ANY t IN tags SATISFIES ANY u IN tags SATISFIES t = 'city' END END")
        == [["make": .string("Volvo")]])
    let advice = try rows("ADVISE SELECT * FROM cars WHERE cars = 1 ORDER BY cars")
    #expect(!"\(advice)".contains("CREATE INDEX"), "\(advice)")
  }

  @Test func `plans and errors show the name`() throws {
    let plan = try rows("EXPLAIN SELECT c FROM cars c WHERE object_length(c) > 1 ORDER BY c")
    #expect("\(plan)".contains("(object_length(cars) > 1)"), "\(plan)")
    let groups = try rows("EXPLAIN SELECT c, COUNT(*) FROM cars c WHERE c != 1 GROUP BY c")
    #expect("\(groups)".contains("(c != 1)") || "\(groups)".contains("(cars != 1)"), "\(groups)")
    let error = try #require(throws: QueryError.self) {
      try engine.execute("SELECT make, cars FROM cars GROUP BY make")
    }
    #expect(error.message == "'cars' must depend only on group keys or aggregates")
    #expect(error.position?.offset == 13)
  }

  @Test func `a live query follows the whole document`() throws {
    var query = try LiveQuery(dql: "SELECT c FROM cars c WHERE c.make = 'Saab'")
    let commits = CommitLog()
    let listener = store.onCommit { commits.append($0) }
    defer { listener.cancel() }
    let first = try query.start(engine).map { try $0.values() }
    #expect(first == [["c": .map(Self.saab)]])
    _ = try engine.execute("UPDATE cars SET km = 9 WHERE _id = 'c2'")
    for commit in commits.take() { _ = try query.apply(commit) }
    let changed = Self.saab.merging(["km": .int(9)]) { $1 }
    let second = try query.rows.map { try $0.values() }
    #expect(second == [["c": .map(changed)]])
  }

  @Test func `the id stays the id, whatever the collection is called`() throws {
    #expect(try DQL.parse("SELECT _id FROM _id") == DQL.parse("SELECT _id._id FROM _id"))
    #expect(try DQL.parse("SELECT * FROM c _id WHERE _id = 1") == DQL.parse("SELECT * FROM c WHERE _id = 1"))
  }

  // MARK: Hints

  @Test(arguments: [
    (
      "SELECT cars FROM cars",
      "'cars' alone is the whole document of 'cars': its field of that name is cars.cars"
    ),
    (
      "SELECT * FROM cars WHERE cars = 7",
      "'cars' alone is the whole document of 'cars': its field of that name is cars.cars"
    ),
    (
      "SELECT make FROM cars make",
      "'make' alone is the whole document of 'cars': its field of that name is make.make"
    ),
    (
      "UPDATE cars SET a = 1 WHERE cars = 7",
      "'cars' alone is the whole document of 'cars': its field of that name is cars.cars"
    ),
    (
      "DELETE FROM cars WHERE cars = 7",
      "'cars' alone is the whole document of 'cars': its field of that name is cars.cars"
    ),
    (
      "EVICT FROM cars WHERE cars = 7 RETURNING _id",
      "'cars' alone is the whole document of 'cars': its field of that name is cars.cars"
    ),
    (
      "SELECT make FROM cars make JOIN cars c ON c._id = make._id",
      "'make' alone is the whole document of 'cars': its field of that name is make.make"
    ),
  ])
  func `a hint names the field that may be meant`(text: String, hint: String) throws {
    #expect(try engine.execute(text).hints == [hint])
  }

  @Test func `there is no hint where no document has such a field`() throws {
    for text in [
      "SELECT c FROM cars c", "SELECT cars.* FROM cars", "SELECT cars.cars FROM cars", "SELECT * FROM cars",
    ] {
      try expectEqual(engine.execute(text).hints, [], "\(text)")
    }
  }

  // MARK: Subscriptions

  @Test func `a subscription compares fields, and one of an earlier version still does`() throws {
    let text = "SELECT * FROM status WHERE status = 'open'"
    let error = try #require(throws: QueryError.self) { try SubscriptionQuery(dql: text) }
    #expect(error.code == .unsupported)
    #expect(
      error.message
        == "Unsupported feature: the whole document in a condition: 'status.status' is the field of that name"
    )
    var writer = ByteWriter()
    writer.write(0)
    writer.writeString("status")
    writer.writeString(text)
    writer.writeVarint(0)
    let bytes = writer.bytes
    var reader = ByteReader(bytes.span.bytes)
    let sent = try SubscriptionQuery(from: &reader)
    let own = try SubscriptionQuery(dql: "SELECT * FROM status WHERE status.status = 'open'")
    #expect(sent.compiled == own.compiled)
    var again = ByteWriter()
    sent.encode(to: &again)
    #expect(again.bytes == bytes)
  }
}
