import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@Suite struct StrictTypesTests {
  private func withEngine(strict: Bool = true, _ body: (Engine) throws -> Void) throws {
    try TemporaryDirectory.with { directory in
      let store = try Store.open(
        at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
      defer { store.close() }
      let environment = EngineEnvironment(now: { 0 }, wallClock: { 86_400_000 })
      let engine = Engine(store: store, parameters: SystemParameters(), environment: environment)
      _ = try engine.execute(
        "INSERT INTO t DOCUMENTS ({'_id': 'd1', 's': 'secret', 'n': 5, 'a': [1], 'z': null})")
      _ = try engine.execute("INSERT INTO u DOCUMENTS ({'_id': 'u1', 't': 'd1', 'n': 5})")
      if strict { _ = try engine.execute("ALTER SYSTEM SET dql_strict_types = true") }
      try body(engine)
    }
  }

  private static let mistakes: [(String, String, String)] = [
    ("concat(s, n)", "concat", "the function 'concat' expects a string as argument 2, found an integer"),
    ("upper(n)", "upper", "expects a string as argument 1, found an integer"),
    ("substr(s, 1.5)", "substr", "expects an integer as argument 2, found a float"),
    ("date_add('2026-01-01', 'day', 1)", "date_add", "expects a date with a time zone as argument 1"),
    ("date_add(n, 'fortnight', 1)", "date_add", "expects a part of a date as argument 2"),
    ("date_diff(n, 'day', n)", "date_diff", "expects a date with a time zone as argument 2"),
    ("array_contains(s, 1)", "array_contains", "expects an array as argument 1, found a string"),
    ("EXISTS s", "EXISTS", "expects an array"), ("object_keys(a)", "object_keys", "expects an object"),
    ("s + n", "+", "the operator '+' expects a number, found a string"),
    ("n << 1.5", "<<", "expects an integer, found a float"),
    ("s || n", "||", "expects a string, found an integer"),
    ("n < s", "<", "the operator '<' compares values of one type, found an integer and a string"),
    ("s = 5", "=", "compares values of one type, found a string and an integer"),
    ("5 = 'five'", "=", "compares values of one type"), ("n XOR true", "XOR", "expects a boolean"),
    ("n BETWEEN 'a' AND 'b'", "BETWEEN", "compares values of one type"), ("n IN s", "IN", "expects an array"),
    ("-s", "-", "expects a number, found a string"),
    ("NOT n", "NOT", "NOT expects a boolean, found an integer"),
    ("n AND true", "AND", "AND expects a boolean"),
    ("false OR s", "OR", "OR expects a boolean, found a string"),
    ("n LIKE 'a%'", "LIKE", "LIKE expects a string, found an integer"),
    ("n SIMILAR TO 'a'", "SIMILAR", "SIMILAR TO expects a string"),
    ("ANY v IN s SATISFIES v = 1 END", "ANY", "expects an array or an object, found a string"),
    ("ARRAY v FOR v IN n END", "ARRAY", "expects an array or an object, found an integer"),
    (
      "ANY v IN a SATISFIES v = 'x' END", "= 'x'",
      "compares values of one type, found an integer and a string"
    ),
    ("n + :p", "+", "expects a number, found a string"),
  ]

  @Test func `an operand of a wrong type is an error at its place, which names the document`() throws {
    try withEngine { engine in
      for (expression, place, message) in Self.mistakes {
        let statement = "SELECT \(expression) AS r FROM t"
        let error = #expect(throws: QueryError.self, "\(statement)") {
          try engine.execute(statement, arguments: ["p": .string("hidden")])
        }
        guard let error else { continue }
        expectEqual(error.code, .runtime, "\(statement): \(error)")
        expect(error.message.contains(message), "\(statement): \(error)")
        expectEqual(error.document?.value, .string("d1"), "\(statement): \(error)")
        let offset = try #require(error.position?.offset, "\(statement): \(error)")
        expect(String(decoding: statement.utf8.dropFirst(offset), as: UTF8.self).hasPrefix(place), "\(error)")
        expect(error.description.contains("in the document \"d1\""))
        expect(!error.description.contains("secret") && !error.description.contains("hidden"))
      }
    }
  }

  @Test func `without strict types the same is MISSING`() throws {
    try withEngine(strict: false) { engine in
      for (expression, _, _) in Self.mistakes {
        let statement = "SELECT \(expression) AS r FROM t"
        _ = try engine.execute(statement, arguments: ["p": .string("hidden")])
      }
      #expect(try engine.execute("SELECT s + n AS r FROM t").rows[0].values().isEmpty)
    }
  }

  @Test(arguments: [
    "SELECT * FROM t WHERE upper(n) = 'A'", "SELECT COUNT(*) FROM t WHERE n LIKE 'a%'",
    "SELECT * FROM t ORDER BY upper(n)", "SELECT MAX(upper(n)) FROM t",
    "SELECT COUNT(*) FROM t GROUP BY upper(n)",
    "SELECT DISTINCT upper(n) FROM t", "UPDATE t SET x = upper(n)", "DELETE FROM t WHERE upper(n) = 'A'",
    "EVICT FROM t WHERE n = 'A'", "INSERT INTO v SELECT upper(n) AS x FROM t",
    "UPDATE t SET x = 1 RETURNING upper(n) AS u",
    "SELECT * FROM t WHERE s = 5",
  ])
  func `it holds in every clause, and a statement that fails writes nothing`(statement: String) throws {
    try withEngine { engine in
      let error = #expect(throws: QueryError.self) { try engine.execute(statement) }
      #expect(error?.code == .runtime, "\(String(describing: error))")
      #expect(error?.document?.value == .string("d1"), "\(String(describing: error))")
      #expect(error?.position != nil, "\(String(describing: error))")
      let rows = try engine.execute("SELECT * FROM t").rows.map { try $0.values() }
      #expect(rows.count == 1 && rows.first?["x"] == nil)
      #expect(try engine.execute("SELECT * FROM v").rows.isEmpty)
    }
  }

  @Test func `in a join the document is the one that completes the row`() throws {
    try withEngine { engine in
      let error = #expect(throws: QueryError.self) {
        try engine.execute("SELECT upper(b.n) AS x FROM u b JOIN t ON t._id = b.t")
      }
      #expect(
        error?.document?.value == .string("d1") && error?.position?.offset == 7,
        "\(String(describing: error))")
    }
  }

  @Test(arguments: [
    "is_string(n) AND upper(n) = 'A'", "z + 1 IS NULL", "missing_field + 1 IS MISSING", "z = 'a' IS NULL",
    "concat(s, z) IS NULL", "CASE WHEN is_number(n) THEN n + 1 ELSE upper(n) END = 6", "n IN ('a', 5)",
    "coalesce(z, s, n) = 'secret'", "nullif(n, 'a') = 5", "decode(n, 'a', 1, 5, 2) = 2", "n = 5.0",
    "NOT z IS NULL",
    "type(n) = 'integer'", "SUM", "array_contains(a, 'x') = false", "date_format(0, '') IS NOT MISSING",
  ])
  func `what asks for types, replaces NULL or has a place for any value stays as it is`(condition: String)
    throws
  {
    try withEngine { engine in
      if condition == "SUM" {
        #expect(try engine.execute("SELECT SUM(s) AS n FROM t").rows[0].values().isEmpty)
        return
      }
      let rows = try engine.execute("SELECT _id FROM t WHERE \(condition)").rows
      #expect(rows.count == (condition.hasPrefix("is_string") || condition.hasPrefix("NOT z") ? 0 : 1))
    }
  }

  @Test func `the setting is a boolean, and holds from the next statement until it is reset`() throws {
    try withEngine(strict: false) { engine in
      let wrong = #expect(throws: QueryError.self) {
        try engine.execute("ALTER SYSTEM SET dql_strict_types = 1")
      }
      #expect(wrong?.code == .argument && wrong?.expected == ["true or false"])
      #expect(
        try engine.execute("SHOW dql_strict_types").rows[0].values() == ["dql_strict_types": .bool(false)])
      _ = try engine.execute("ALTER SYSTEM SET DQL_STRICT_TYPES = true")
      #expect(throws: QueryError.self) { try engine.execute("SELECT 1 + 'a' FROM t") }
      _ = try engine.execute("ALTER SYSTEM RESET dql_strict_types")
      _ = try engine.execute("SELECT 1 + 'a' FROM t")
    }
  }

  @Test(arguments: [
    ("SELECT repeat(s, 10000000) FROM t", QueryError.Code.limit),
    ("SELECT * FROM t WHERE regexp_like(s, '(')", .argument),
    ("SELECT * FROM t WHERE length(repeat(s, 10000000)) = 1", .unknownFunction),
    ("SELECT * FROM t WHERE char_length(repeat(s, 10000000)) = 1", .limit),
    ("UPDATE t APPLY s INCREMENT BY 1", .runtime), ("UPDATE t APPLY n INCREMENT BY s", .argument),
  ])
  func `every error of a document names it, also without strict types`(
    statement: String, code: QueryError.Code
  ) throws {
    try withEngine(strict: false) { engine in
      let error = #expect(throws: QueryError.self) { try engine.execute(statement) }
      #expect(error?.code == code, "\(String(describing: error))")
      let isFoundBefore = code == .unknownFunction
      #expect(error?.document?.value == (isFoundBefore ? nil : .string("d1")), "\(String(describing: error))")
    }
  }
}
