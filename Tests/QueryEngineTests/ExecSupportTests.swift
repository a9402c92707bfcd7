import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// Trees that the parser does not make can be made by hand: the engine names what it does not do.
@Suite struct ExecSupportTests {
  private static let a = Expression.path([.key("a")])

  private static func filter(_ predicate: Expression) -> Statement {
    .select(Select(collection: "t", predicate: predicate))
  }

  private static let statements: [(Statement, String)] = [
    (filter(.aggregate(.sum, distinct: false, a)), "SUM"),
    (filter(.field(source: 1, [.key("a")])), "join"),
    (
      .insert(Insert(collection: "t", documents: [.array([.aggregate(.max, distinct: false, a)])])), "MAX"
    ),
  ]

  @Test(arguments: statements)
  func `what is not executed is refused by name, also on an empty collection`(
    statement: Statement, feature: String
  ) throws {
    try withEngine { engine in
      let error = try #require(throws: QueryError.self) { try engine.execute(statement) }
      #expect(error.code == .unsupported)
      #expect(error.message.contains(feature), "\(error)")
      #expect(try engine.execute("SELECT * FROM system:collections").rows.isEmpty)
    }
  }

  @Test func `a member of an object whose key is no string is left out`() throws {
    let object = Expression.object([
      ObjectMember(key: Self.a, value: .literal(.int(1))),
      ObjectMember(key: .missing, value: .literal(.int(2))),
      ObjectMember(key: "x", value: .literal(.int(3))), ObjectMember(key: "x", value: .literal(.int(4))),
    ])
    func value(_ name: Value?) throws -> Value? { try Evaluator.evaluate(object, row: { _ in name }) }
    #expect(try value(.string("k")) == .map(["k": .int(1), "x": .int(4)]))
    #expect(try value(.int(1)) == .map(["x": .int(4)]))
  }

  @Test func `mistakes that are found after parsing are shown at their place`() throws {
    try withEngine { engine in
      let missing = try #require(throws: QueryError.self) {
        try engine.execute("SELECT *\nFROM t WHERE a = :b", arguments: ["a": .null])
      }
      #expect(missing.position == QueryError.Position(offset: 26, line: 2, column: 18))
      let unknown = try #require(throws: QueryError.self) {
        try engine.execute("SELECT * FROM system:nothing")
      }
      #expect(unknown.code == .unsupported && unknown.position?.offset == 14)
    }
  }

  private func withEngine(_ body: (Engine) throws -> Void) throws {
    try TemporaryDirectory.with { directory in
      let store = try Store.open(
        at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
      defer { store.close() }
      try body(Engine(store: store, parameters: SystemParameters(), environment: .still))
    }
  }
}
