import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// An argument that is a decimal compares as a number, in every place where arguments go.
@Suite struct DecimalArgumentTests {
  private func decimal(_ text: String) throws -> Value { .decimal(try #require(ExactDecimal(text))) }

  private func withEngine(_ body: (Engine) throws -> Void) throws {
    try TemporaryDirectory.with { directory in
      let store = try Store.open(
        at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
      defer { store.close() }
      let environment = EngineEnvironment(now: { 0 }, wallClock: { 0 })
      let engine = Engine(store: store, parameters: SystemParameters(), environment: environment)
      _ = try engine.execute(
        """
        INSERT INTO t DOCUMENTS ({'_id': 1, 'p': '9'}), ({'_id': 2, 'p': '10'}), ({'_id': 3, 'p': '100'}),
          ({'_id': 4, 'p': 10}), ({'_id': 5, 'p': 9.5}), ({'_id': 6, 'p': 'none'}), ({'_id': 7}),
          ({'_id': 8, 'p': null})
        """)
      try body(engine)
    }
  }

  private static let conditions: [(condition: String, ids: [Int64])] = [
    ("p > :nine", [2, 3, 4, 5]), ("p <= :nine", [1]), (":nine < p", [2, 3, 4, 5]), ("p = :ten", [2, 4]),
    ("p != :ten", [1, 3, 5]), ("p BETWEEN :nine AND :ten", [1, 2, 4, 5]), ("p IN [:nine, :ten]", [1, 2, 4]),
    ("p IN :both", [1, 2, 4]), ("p NOT IN :both", [3, 5, 6]), ("NOT (p > :nine)", [1]),
    ("ANY x IN [p] SATISFIES x = :ten END", [2, 4]), ("decimal(p) = :ten", [2, 4]), ("p > :nine + 1", [3]),
    ("p LIKE :nine", [1]), ("p = concat(:ten, '0')", [3]), ("type(:ten) = 'decimal' AND _id = 1", [1]),
  ]

  @Test(arguments: [false, true])
  func `a decimal compares with numbers and with texts of numbers`(hasIndex: Bool) throws {
    try withEngine { engine in
      if hasIndex { _ = try engine.execute("CREATE INDEX byPrice ON t (p)") }
      let (nine, ten) = (try decimal("9"), try decimal("10"))
      let arguments: [TextKey: Value] = ["nine": nine, "ten": ten, "both": .array([nine, ten])]
      for (condition, ids) in Self.conditions {
        let statement = "SELECT _id FROM t WHERE \(condition) ORDER BY _id"
        let rows = try engine.execute(statement, arguments: arguments).rows
        try expectEqual(rows.compactMap { try $0.values()["_id"] }, ids.map { .int($0) }, "\(condition)")
      }
    }
  }

  @Test func `the builder language compares decimals, and makes them`() throws {
    try withEngine { engine in
      let arguments: [TextKey: Value] = ["ten": try decimal("10"), "list": .array([try decimal("10")])]
      let predicates: [(text: String, ids: [Int64])] = [
        ("p > $args.ten", [3]), ("p == $args.ten", [2, 4]), ("p != $args.ten", [1, 3, 5, 6, 7, 8]),
        ("decimal(p) >= 10", [2, 3, 4]), ("decimal(p) == '10.0'", [2, 4]), ("decimal(p) == null", [6, 7, 8]),
        ("contains($args.list, p)", [2]), ("contains($args['list'], decimal(p))", [2, 4]),
      ]
      for (text, ids) in predicates {
        let rows = try engine.find(
          collection: "t", predicate: Builder.parse(text),
          order: [SortKey(expression: Builder.parse("_id"))], arguments: arguments)
        try expectEqual(rows.compactMap { try $0.values()["_id"] }, ids.map { .int($0) }, "\(text)")
      }
    }
  }

  @Test func `written, a decimal is its text`() throws {
    try withEngine { engine in
      let price = try decimal("12.50")
      let document: Value = .map(["_id": .int(20), "p": price])
      _ = try engine.execute("INSERT INTO t DOCUMENTS (:d)", arguments: ["d": document])
      _ = try engine.execute(
        "UPDATE t SET p = :p, q = :list WHERE _id = 1",
        arguments: ["p": price, "list": .array([price, .int(1)])])
      let statement = "SELECT _id, p, q, :p AS r FROM t WHERE p = :p ORDER BY _id"
      let rows = try engine.execute(statement, arguments: ["p": price]).rows
      let text = Value.string("12.5")
      try expectEqual(
        rows.map { try $0.values() },
        [
          ["_id": .int(1), "p": text, "q": .array([text, .int(1)]), "r": text],
          ["_id": .int(20), "p": text, "r": text],
        ])
    }
  }

  @Test func `strict types take a decimal beside a number and beside the text of one`() throws {
    try withEngine { engine in
      _ = try engine.execute("ALTER SYSTEM SET dql_strict_types = true")
      let arguments: [TextKey: Value] = ["ten": try decimal("10")]
      let found = "SELECT _id FROM t WHERE _id <= 5 AND p = :ten"
      #expect(try engine.execute(found, arguments: arguments).rows.count == 2)
      let wrong = "SELECT _id FROM t WHERE _id = 6 AND p = :ten"
      let error = #expect(throws: QueryError.self) { try engine.execute(wrong, arguments: arguments) }
      #expect(error?.code == .runtime)
    }
  }

  @Test func `a subscription says the same at the other peer`() throws {
    let arguments: [TextKey: Value] = [
      "nine": try decimal("9"), "both": .array([try decimal("9"), try decimal("1.5")]), "n": .int(1),
      "unused": try decimal("4"),
    ]
    let texts = [
      "a > :nine", "a = :n AND (:nine <= `b c` OR a IN :both)", "{'k':nine} = a AND a < :`nine`",
      "a = ':nine'",
    ]
    for text in texts {
      let query = try SubscriptionQuery(dql: "SELECT * FROM c WHERE \(text)", arguments: arguments)
      var writer = ByteWriter()
      query.encode(to: &writer)
      var reader = ByteReader(writer.bytes.span.bytes)
      let received = try SubscriptionQuery(from: &reader)
      expectEqual(received, query, "\(text)")
      expectEqual(received.compiled, query.compiled, "\(text)")
      expect(!received.arguments.values.contains(where: \.holdsDecimal), "\(text)")
    }
    let query = try SubscriptionQuery(dql: "SELECT * FROM c WHERE a > :nine", arguments: arguments)
    #expect(query.text == "SELECT * FROM c WHERE a > decimal(:nine)")
    #expect(query.arguments == ["nine": .string("9")])
    let list = try SubscriptionQuery(dql: "SELECT * FROM c WHERE a IN :both", arguments: arguments)
    let number = try #require(list.compiled.expression)
    #expect(try Evaluator.matches(number, row: { _ in .double(1.5) }))
    #expect(try !Evaluator.matches(number, row: { _ in .string("2") }))
  }

  @Test func `a subscription of the builder language says the same at the other peer`() throws {
    let arguments: [TextKey: Value] = [
      "nine": try decimal("9"), "list": .array([try decimal("9"), .string("x")]),
    ]
    let text = "a > $args.nine && ($args['nine'] == b || contains($args.list, c))"
    let query = try SubscriptionQuery(collection: "c", builder: text, arguments: arguments)
    #expect(
      query.text == "a > decimal($args.nine) && (decimal($args['nine']) == b || contains($args.list, c))")
    var writer = ByteWriter()
    query.encode(to: &writer)
    var reader = ByteReader(writer.bytes.span.bytes)
    #expect(try SubscriptionQuery(from: &reader).compiled == query.compiled)
  }

  @Test func `an array of decimals and other values is refused in a subscription`() throws {
    let arguments: [TextKey: Value] = ["l": .array([try decimal("9"), .string("x")])]
    let error = #expect(throws: QueryError.self) {
      try SubscriptionQuery(dql: "SELECT * FROM c WHERE a IN :l", arguments: arguments)
    }
    #expect(error?.code == .unsupported)
  }

  @Test func `a statement for another peer keeps its mistakes`() throws {
    let sent = try DecimalArguments.sent("SELECT FROM :nine", ["nine": try decimal("9")])
    #expect(sent.text == "SELECT FROM :nine" && sent.arguments == ["nine": .string("9")])
    let right = try DecimalArguments.sent("SELECT :nine AS n FROM t", ["nine": try decimal("9")])
    #expect(right.text == "SELECT decimal(:nine) AS n FROM t")
  }
}
