import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@Suite struct AdviceTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'a': 1})")
  }

  private func advice(_ statement: String) throws -> Advice {
    let statement = try DQL.parse(statement)
    let catalogue = try store.read { try QueryCatalogue(["t"], in: $0) }
    return try Advice(statement, arguments: [:], catalogue: catalogue)
  }

  private static let suggestions: [(String, [String])] = [
    ("SELECT * FROM t WHERE a = 1", ["CREATE INDEX ix_t_a ON t (a)"]),
    ("DELETE FROM t WHERE b > 1 AND a = 1", ["CREATE INDEX ix_t_a_b ON t (a, b)"]),
    ("UPDATE t SET x = 1 WHERE m.n = 1 AND a = 2", ["CREATE INDEX ix_t_m_n_a ON t (m.n, a)"]),
    ("SELECT * FROM t WHERE a = 1 ORDER BY b DESC, c", ["CREATE INDEX ix_t_a_b_c ON t (a, b DESC, c)"]),
    ("SELECT * FROM t WHERE a > 1 ORDER BY a DESC, b", ["CREATE INDEX ix_t_a_b ON t (a DESC, b)"]),
    ("SELECT * FROM t WHERE a > 1 ORDER BY b", ["CREATE INDEX ix_t_a ON t (a)"]),
    ("SELECT * FROM t WHERE a > 1 AND b IN [1, 2]", ["CREATE INDEX ix_t_b ON t (b)"]),
    ("SELECT * FROM t ORDER BY a", ["CREATE INDEX ix_t_a ON t (a)"]),
    (
      "SELECT * FROM t WHERE a = 1 OR b = 2",
      ["CREATE INDEX ix_t_a ON t (a)", "CREATE INDEX ix_t_b ON t (b)"]
    ),
    ("SELECT * FROM t WHERE a = 1 OR upper(b) = 'x'", []),
    (
      "SELECT * FROM t WHERE a = 1 OR lower(b) = 'x'",
      ["CREATE INDEX ix_t_a ON t (a)", "CREATE INDEX ix_t_b ON t ((lower(b)))"]
    ),
    (
      "SELECT * FROM t WHERE array_contains(a, 1) AND array_contains(b, 2) AND c = 3",
      ["CREATE INDEX ix_t_a_c ON t (a[*], c)"]
    ),
    ("SELECT * FROM t", []),
    ("SELECT * FROM t WHERE _id = 'x'", []),
  ]

  @Test(arguments: suggestions)
  func `suggests what compares by value first, then a range, then the order`(
    statement: String, expected: [String]
  ) throws {
    let advice = try advice(statement)
    #expect(advice.suggestions.map { Statement.createIndex($0).description } == expected)
    // What was suggested is used, and nothing better is known then.
    for suggestion in advice.suggestions {
      let parts: [CreateIndex.Key.Part: IndexField.Part] = [.lowercase: .lowercase, .elements: .elements]
      let fields = suggestion.keys.map {
        IndexField($0.path, part: parts[$0.part] ?? .value, descending: $0.descending)
      }
      try store.createIndex(IndexDefinition(name: suggestion.name, collection: "t", fields: fields))
    }
    let later = try self.advice(statement)
    #expect(later.suggestions.isEmpty)
    #expect(later.existing == advice.suggestions.map(\.name))
  }

  @Test func `tells what serves the statement already`() throws {
    try store.createIndex(
      IndexDefinition(name: "ix_t_a", collection: "t", fields: [IndexField(["b"]), IndexField(["a"])]))
    let served = try advice("SELECT * FROM t WHERE a = 1 AND b = 2")
    #expect(served.suggestions.isEmpty && served.existing == ["ix_t_a"])
    #expect(served.row["outcome"] == .string("existing indexes serve the statement"))
    let taken = try advice("SELECT * FROM t WHERE a = 1")
    #expect(taken.row["suggestions"] == .array([.string("CREATE INDEX ix_t_a_2 ON t (a)")]))
    #expect(try advice("SELECT * FROM system:dual").outcome == "a virtual collection has no indexes")
    #expect(throws: QueryError.self) { try advice("SHOW ALL") }
  }

  @Test func `ADVISE answers a row, and AND PROVISION makes the indexes too`() throws {
    let before = try engine.execute("ADVISE SELECT * FROM t WHERE a = 1 AND b > 2").rows[0].values()
    #expect(before["suggestions"] == .array([.string("CREATE INDEX ix_t_a_b ON t (a, b)")]))
    #expect(before["existing"] == .array([]))
    #expect(before["outcome"] == .string("new indexes would serve the statement"))
    _ = try engine.execute("ADVISE AND PROVISION SELECT * FROM t WHERE a = 1 AND b > 2")
    let after = try engine.execute("ADVISE SELECT * FROM t WHERE a = 1 AND b > 2").rows[0].values()
    #expect(after["suggestions"] == .array([]) && after["existing"] == .array([.string("ix_t_a_b")]))
    // What makes indexes takes transactions of its own.
    let statement = try DQL.parse("ADVISE AND PROVISION SELECT * FROM t WHERE c = 1")
    #expect(throws: QueryError.self) { try store.write { try engine.execute(statement, in: $0) } }
  }

  @Test func `provisions without blocking`() async throws {
    _ = try await engine.execute("ADVISE AND PROVISION DELETE FROM t WHERE a = 1")
    #expect(try advice("DELETE FROM t WHERE a = 1").existing == ["ix_t_a"])
  }
}
