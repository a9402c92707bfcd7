import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// What EXPLAIN says of one predicate after another, over the same indexes.
@Suite struct PlanAccessTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'a': 1})")
    let indexes: [(String, [IndexField])] = [
      ("ia", [IndexField(["a"])]), ("id", [IndexField(["d"], descending: true)]),
      ("ibc", [IndexField(["b"]), IndexField(["c"], descending: true)]),
      ("im", [IndexField(["m", "x"])]), ("il", [IndexField(["l"], part: .lowercase)]),
      ("ie", [IndexField(["e"], part: .elements), IndexField(["f"])]),
    ]
    for (name, fields) in indexes {
      try store.createIndex(IndexDefinition(name: name, collection: "t", fields: fields))
    }
  }

  /// The steps that EXPLAIN shows of a SELECT.
  private func steps(_ rest: String, _ hints: Hints = Hints()) throws -> [Value] {
    guard case .select(var select) = try DQL.parse("SELECT * FROM t " + rest) else { return [] }
    select.source.hints = hints
    let row = try engine.execute(Statement.explain(.select(select))).rows[0].values()
    guard case .array(let steps) = row["plan"] else { return [] }
    return steps
  }

  /// The first operator with its index and spans, on one line.
  private func access(_ steps: [Value]) -> String {
    guard case .map(let first) = steps.first else { return "" }
    func text(_ key: String, in step: [TextKey: Value]) -> String {
      if case .string(let text) = step[key] { text } else { "" }
    }
    func scan(_ step: [TextKey: Value]) -> String {
      guard case .array(let spans) = step["spans"] else { return "" }
      let texts = spans.map { span in
        guard case .map(let ends) = span else { return "" }
        return text("from", in: ends) + " … " + text("to", in: ends)
      }
      let direction = step["reverse"] == .bool(true) ? " reversed" : ""
      return text("index", in: step) + direction + " [" + texts.joined(separator: "; ") + "]"
    }
    if case .array(let scans) = first["scans"] {
      let texts = scans.map { inner in
        if case .map(let inner) = inner { scan(inner) } else { "" }
      }
      return text("operator", in: first) + " " + texts.joined(separator: " + ")
    }
    if first["index"] != nil { return scan(first) }
    return text("operator", in: first)
  }

  private static let accesses: [(String, String)] = [
    // Equality
    ("a = 1", "ia [before 1 … after 1]"),
    ("a == 1", "ia [before 1 … after 1]"),
    ("1 = a", "ia [before 1 … after 1]"),
    ("a = 1.5", "ia [before 1.5 … after 1.5]"),
    ("a = 'x'", "ia [before 'x' … after 'x']"),
    ("a = true", "ia [before true … after true]"),
    ("a", "ia [before true … after true]"),
    ("NOT a", "ia [before false … after false]"),
    ("a = [1, 2]", "ia [before [1, 2] … after [1, 2]]"),
    ("a = NULL", "idScan"),
    ("a != NULL", "idScan"),
    ("a < NULL", "idScan"),
    ("d = 1", "id [before 1 … after 1]"),
    ("m.x = 'k'", "im [before 'k' … after 'k']"),
    // Ranges
    ("a > 1", "ia [after 1 … before binaries]"),
    ("a >= 1", "ia [before 1 … before binaries]"),
    ("a < 1", "ia [before numbers … before 1]"),
    ("a <= 1", "ia [before numbers … after 1]"),
    ("1 < a", "ia [after 1 … before binaries]"),
    ("a > 'x'", "ia [after 'x' … before []]"),
    ("a < 'x'", "ia [before '' … before 'x']"),
    ("a > 1 AND a < 5", "ia [after 1 … before 5]"),
    ("a > 1 AND a > 3", "ia [after 3 … before binaries]"),
    ("a >= 5 AND a <= 5", "ia [before 5 … after 5]"),
    ("a > 5 AND a < 1", "idScan"),
    ("a > 5 AND a < 'x'", "idScan"),
    ("a = 1 AND a = 2", "idScan"),
    ("a = 1 AND a != 1", "idScan"),
    ("a BETWEEN 1 AND 5", "ia [before 1 … after 5]"),
    ("a NOT BETWEEN 1 AND 5", "ia [before numbers … before 1; after 5 … before binaries]"),
    ("a BETWEEN 5 AND 1", "idScan"),
    ("a < true", "ia [before false … before true]"),
    ("a > [1]", "ia [after [1] … before {}]"),
    ("d > 1", "id [after binaries … before 1]"),
    ("d <= 1", "id [before 1 … after numbers]"),
    // Not equal, and negations
    ("a != 1", "ia [before numbers … before 1; after 1 … before binaries]"),
    ("a <> 'x'", "ia [before '' … before 'x'; after 'x' … before []]"),
    ("a != true", "ia [before false … before true]"),
    ("NOT a = 1", "ia [before numbers … before 1; after 1 … before binaries]"),
    ("NOT a != 1", "ia [before 1 … after 1]"),
    ("NOT a > 1", "ia [before numbers … after 1]"),
    ("NOT NOT a = 1", "ia [before 1 … after 1]"),
    ("NOT (a < 1 OR a > 5)", "ia [before 1 … after 5]"),
    ("d != 1", "id [after binaries … before 1; after 1 … after numbers]"),
    // Lists
    ("a IN [3, 1, 2, 1.0]", "ia [before 1 … after 1; before 2 … after 2; before 3 … after 3]"),
    ("a IN ['x', 1, true]", "ia [before true … after true; before 1 … after 1; before 'x' … after 'x']"),
    ("a IN [1, NULL]", "ia [before 1 … after 1]"),
    ("a IN []", "idScan"),
    ("a IN [NULL]", "idScan"),
    ("a IN NULL", "idScan"),
    ("a NOT IN [1]", "ia [ … before 1; after 1 … before NULL]"),
    ("a NOT IN [1, NULL]", "idScan"),
    ("a IN [1, 2] AND a > 1", "ia [before 2 … after 2]"),
    ("d IN [1, 2]", "id [before 2 … after 2; before 1 … after 1]"),
    ("a = 1 OR a = 2", "ia [before 1 … after 1; before 2 … after 2]"),
    ("a = 1 OR a > 5", "ia [before 1 … after 1; after 5 … before binaries]"),
    ("a < 3 OR a < 5", "ia [before numbers … before 5]"),
    // Beginnings of strings
    ("a LIKE 'ab%'", "ia [before 'ab' … after 'ab%']"),
    ("a LIKE 'ab%c'", "ia [before 'ab' … after 'ab%']"),
    ("a LIKE 'ab_'", "ia [before 'ab' … after 'ab%']"),
    ("a LIKE 'ab'", "ia [before 'ab' … after 'ab']"),
    ("a LIKE 'a\\\\%b%'", "ia [before 'a%b' … after 'a%b%']"),
    ("a LIKE 'a!%b%' ESCAPE '!'", "ia [before 'a%b' … after 'a%b%']"),
    ("a NOT LIKE 'ab%'", "ia [before '' … before 'ab'; after 'ab%' … before []]"),
    ("starts_with(a, 'ab')", "ia [before 'ab' … after 'ab%']"),
    ("d LIKE 'ab%'", "id [before 'ab%' … after 'ab']"),
    ("a LIKE '%ab'", "collectionScan"),
    ("a LIKE '_b'", "collectionScan"),
    ("a ILIKE 'ab%'", "collectionScan"),
    // NULL and MISSING
    ("a IS NULL", "ia [before NULL … after NULL]"),
    ("a IS NOT NULL", "ia [ … before NULL; after NULL … ]"),
    ("a IS MISSING", "ia [before MISSING … after MISSING]"),
    ("a IS NOT MISSING", "ia [ … before MISSING]"),
    ("NOT a IS MISSING", "ia [ … before MISSING]"),
    ("a IS NULL OR a IS MISSING", "ia [before NULL … after NULL; before MISSING … after MISSING]"),
    ("d IS MISSING", "id [before MISSING … after MISSING]"),
    ("d IS NOT MISSING", "id [after MISSING … ]"),
    // Several fields
    ("b = 1 AND c = 2", "ibc [before 1, 2 … after 1, 2]"),
    ("c = 2 AND b = 1", "ibc [before 1, 2 … after 1, 2]"),
    ("b = 1 AND c > 2", "ibc [after 1, binaries … before 1, 2]"),
    ("b = 1 AND c LIKE 'x%'", "ibc [before 1, 'x%' … after 1, 'x']"),
    ("b = 1 AND c IS NOT MISSING", "ibc [after 1, MISSING … after 1]"),
    ("b IN [1, 2] AND c = 3", "ibc [before 1, 3 … after 1, 3; before 2, 3 … after 2, 3]"),
    ("b = 1 AND c IN [3, 4]", "ibc [before 1, 4 … after 1, 4; before 1, 3 … after 1, 3]"),
    ("b > 1 AND c = 3", "ibc [after 1 … before binaries]"),
    ("b = 1 AND zip = 3", "ibc [before 1 … after 1]"),
    ("c = 2", "collectionScan"),
    // Two indexes
    ("a = 1 AND d = 2", "intersectScan ia [before 1 … after 1] + id [before 2 … after 2]"),
    ("a = 1 AND d > 2", "ia [before 1 … after 1]"),
    ("a = 1 AND b = 2 AND c = 3", "ibc [before 2, 3 … after 2, 3]"),
    ("a = 1 OR d = 2", "unionScan ia [before 1 … after 1] + id [before 2 … after 2]"),
    ("a = 1 OR (b = 2 AND c = 3)", "unionScan ia [before 1 … after 1] + ibc [before 2, 3 … after 2, 3]"),
    ("(a = 1 OR d = 2) AND zip = 3", "unionScan ia [before 1 … after 1] + id [before 2 … after 2]"),
    ("(a = 1 OR d = 2) AND b = 3 AND c = 4", "ibc [before 3, 4 … after 3, 4]"),
    ("a = 1 OR zip = 2", "collectionScan"),
    (
      "NOT (a = true AND d = true)",
      "unionScan ia [before false … before true] + id [after true … after false]"
    ),
    // Small letters
    ("lower(l) = 'x'", "il [before 'x' … after 'x']"),
    ("lower(l) LIKE 'x%'", "il [before 'x' … after 'x%']"),
    ("lower(l) IN ['x', 'y']", "il [before 'x' … after 'x'; before 'y' … after 'y']"),
    ("lower(l) IS MISSING", "il [before MISSING … after MISSING]"),
    ("l = 'x'", "collectionScan"),
    ("upper(l) = 'X'", "collectionScan"),
    // Elements of arrays: where several may be meant, each document is wanted once.
    ("array_contains(e, 1)", "ie [before 1 … after 1]"),
    ("array_contains(e, 1) AND f = 2", "ie [before 1, 2 … after 1, 2]"),
    ("'x' IN e", "ie [before 'x' … after 'x']"),
    ("ANY t IN e SATISFIES t = 1 END", "ie [before 1 … after 1]"),
    ("ANY t IN e SATISFIES t = 1 OR t = 3 END", "unionScan ie [before 1 … after 1; before 3 … after 3]"),
    ("ANY t IN e SATISFIES t > 5 AND zip = 1 END", "unionScan ie [after 5 … before binaries]"),
    ("ANY t IN e SATISFIES t LIKE 'a%' END", "unionScan ie [before 'a' … after 'a%']"),
    (
      "ANY t IN e SATISFIES t IN [1, 2] END AND array_contains(e, 1)",
      "unionScan ie [before 1 … after 1; before 2 … after 2]"
    ),
    ("ANY t IN e SATISFIES t = 1 AND t = 2 END", "idScan"),
    ("array_contains(e, 1) OR a = 2", "unionScan ie [before 1 … after 1] + ia [before 2 … after 2]"),
    ("array_contains(e, NULL)", "idScan"),
    ("EVERY t IN e SATISFIES t = 1 END", "collectionScan"),
    ("ANY t WITHIN e SATISFIES t = 1 END", "collectionScan"),
    ("ANY t IN e SATISFIES t.x = 1 END", "collectionScan"),
    ("NOT array_contains(e, 1)", "collectionScan"),
    ("e IS NOT MISSING", "collectionScan"),
    ("e = 1", "collectionScan"),
    // What no index answers
    ("zip = 1", "collectionScan"),
    ("lower(a) = 'x'", "collectionScan"),
    ("a + 1 = 2", "collectionScan"),
    ("a = d", "collectionScan"),
    ("a[0] = 1", "collectionScan"),
    ("a.x = 1", "collectionScan"),
    ("m = 1", "collectionScan"),
    ("true", "collectionScan"),
    ("false", "idScan"),
    ("_id = 'x' AND a = 1", "idScan"),
    ("_id > 'x' AND a = 1", "ia [before 1 … after 1]"),
  ]

  @Test(arguments: accesses)
  func `finds documents by the narrowest access`(predicate: String, expected: String) throws {
    #expect(try access(steps("WHERE " + predicate)) == expected)
  }

  @Test(arguments: [
    ("ORDER BY a LIMIT 3", "ia [ … ]", false),
    ("ORDER BY a DESC LIMIT 3", "ia reversed [ … ]", false),
    ("ORDER BY d LIMIT 3", "id reversed [ … ]", false),
    ("ORDER BY d DESC LIMIT 3", "id [ … ]", false),
    ("ORDER BY a", "ia [ … ]", false),
    ("ORDER BY lower(l) DESC LIMIT 3", "il reversed [ … ]", false),
    ("ORDER BY l LIMIT 3", "collectionScan", true),
    ("ORDER BY e LIMIT 3", "collectionScan", true),
    ("WHERE array_contains(e, 1) ORDER BY f", "ie [before 1 … after 1]", false),
    ("ORDER BY b, c DESC LIMIT 3", "ibc [ … ]", false),
    ("ORDER BY b DESC, c LIMIT 3", "ibc reversed [ … ]", false),
    ("ORDER BY b LIMIT 3", "ibc [ … ]", false),
    ("ORDER BY b, b, c DESC LIMIT 3", "ibc [ … ]", false),
    ("ORDER BY b, c LIMIT 3", "collectionScan", true),
    ("ORDER BY c LIMIT 3", "collectionScan", true),
    ("ORDER BY a + 1 LIMIT 3", "collectionScan", true),
    ("ORDER BY a, zip LIMIT 3", "collectionScan", true),
    ("WHERE zip = 1 ORDER BY a LIMIT 3", "ia [ … ]", false),
    ("WHERE zip = 1 ORDER BY a", "collectionScan", true),
    ("WHERE b = 1 ORDER BY c LIMIT 3", "ibc reversed [before 1 … after 1]", false),
    ("WHERE b = 1 ORDER BY c DESC", "ibc [before 1 … after 1]", false),
    ("WHERE b = 1 AND c > 2 ORDER BY b, c", "ibc reversed [after 1, binaries … before 1, 2]", false),
    ("WHERE b IN [1, 2] ORDER BY b DESC", "ibc reversed [before 1 … after 1; before 2 … after 2]", false),
    ("WHERE b IN [1, 2] ORDER BY c", "ibc [before 1 … after 1; before 2 … after 2]", true),
    ("WHERE a > 1 ORDER BY a DESC LIMIT 3", "ia reversed [after 1 … before binaries]", false),
    ("WHERE a = 1 ORDER BY d LIMIT 3", "ia [before 1 … after 1]", true),
  ])
  func `takes the order from an index`(rest: String, expected: String, sorts: Bool) throws {
    let steps = try self.steps(rest)
    #expect(access(steps) == expected)
    #expect(steps.contains { $0.value(at: [.key("operator")]) == .string("sort") } == sorts)
  }

  @Test func `pages of one query have one plan`() throws {
    _ = try engine.execute(
      "INSERT INTO t DOCUMENTS (:all)",
      arguments: ["all": .array((0..<2_000).map { .map(["a": .int($0), "b": .int($0 % 7)]) })])
    let first = try access(steps("WHERE a > 100 ORDER BY b LIMIT 10"))
    #expect(first == "ibc [ … ]")
    #expect(try access(steps("WHERE a > 100 ORDER BY b LIMIT 10 OFFSET 1500")) == first)
    var ids: [DocumentID] = []
    for page in 0..<20 {
      let rows = try engine.execute(
        "SELECT _id FROM t WHERE a > 100 ORDER BY b LIMIT 100 OFFSET \(page * 100)"
      ).rows
      ids += rows.compactMap(\.id)
    }
    #expect(ids.count == 1_899 && Set(ids).count == ids.count)
  }

  @Test func `hints choose among indexes and scans`() throws {
    func chosen(_ rest: String, _ hints: Hints) throws -> String { access(try steps(rest, hints)) }
    #expect(try chosen("WHERE a = 1", Hints(indexes: [])) == "collectionScan")
    #expect(try chosen("ORDER BY a LIMIT 3", Hints(indexes: [])) == "collectionScan")
    #expect(try chosen("WHERE a = 1 AND a = 2", Hints(indexes: [])) == "collectionScan")
    #expect(try chosen("WHERE a = 1 AND b = 2", Hints(indexes: ["ibc"])) == "ibc [before 2 … after 2]")
    #expect(try chosen("WHERE a = 1", Hints(indexes: ["unknown"])) == "ia [before 1 … after 1]")
    #expect(try chosen("WHERE a = 1 AND d = 2", Hints(maximumScans: 1)) == "ia [before 1 … after 1]")
    #expect(try chosen("WHERE a = 1 OR d = 2", Hints(maximumScans: 1)) == "collectionScan")
    #expect(
      try chosen("WHERE a = 1 ORDER BY d", Hints(prefersOrder: true)) == "id reversed [ … ]")
    #expect(try chosen("WHERE a = 1 ORDER BY zip", Hints(prefersOrder: true)) == "ia [before 1 … after 1]")
  }

  @Test func `what is counted needs no documents where the rows say all`() throws {
    func operators(_ rest: String) throws -> [String] {
      let row = try engine.execute("EXPLAIN SELECT COUNT(*) FROM t " + rest).rows[0].values()
      guard case .array(let steps) = row["plan"] else { return [] }
      return steps.compactMap { step in
        if case .string(let name) = step.value(at: [.key("operator")]) { name } else { nil }
      }
    }
    #expect(try operators("") == ["countScan", "finalProjection"])
    #expect(try operators("WHERE a > 1") == ["indexScan", "group", "finalProjection"])
    #expect(try operators("WHERE b = 1 AND c LIKE 'x%'") == ["indexScan", "group", "finalProjection"])
    for rest in ["WHERE a LIKE 'x%y'", "WHERE b > 1 AND c = 2"] {
      try expectEqual(operators(rest), ["indexScan", "filter", "group", "finalProjection"])
    }
    #expect(
      try operators("WHERE a = 1 AND zip = 2") == [
        "indexScan", "fetch", "filter", "group", "finalProjection",
      ])
    #expect(
      try operators("WHERE a = 1 AND d = 2")
        == ["intersectScan", "fetch", "filter", "group", "finalProjection"])
  }
}
