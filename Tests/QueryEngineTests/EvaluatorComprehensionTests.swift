import CRDTCore
import QueryEngine
import TestKit
import Testing

@Suite struct EvaluatorComprehensionTests {
  private static let x = Variable("x", slot: 0)
  private static let i = Variable("i", slot: 1)

  private func quantified(
    _ quantifier: Quantifier, over source: Value?, deep: Bool = false, _ condition: Expression? = nil
  ) throws -> Value? {
    let greater = Expression.binary(.greater, .variable(Self.x, []), .literal(.int(4)))
    return try Evaluator.evaluate(
      constant: .quantified(
        quantifier,
        Iteration(
          position: Self.i, element: Self.x, source: source.map(Expression.literal) ?? .missing, isDeep: deep),
        satisfies: condition ?? greater))
  }

  @Test(arguments: [
    (Value.array([.int(1), .int(5)]), true, false, false), (.array([.int(5), .int(6)]), true, true, true),
    (.array([]), false, true, false), (.array([.int(1)]), false, false, false),
    (.array([.null]), false, false, false), (.array([.string("a"), .int(9)]), true, false, false),
    (.map(["a": .int(5)]), true, true, true), (.map([:]), false, true, false),
  ])
  func `quantifiers over arrays and objects`(source: Value, any: Bool, every: Bool, both: Bool) throws {
    #expect(try quantified(.any, over: source) == .bool(any))
    #expect(try quantified(.every, over: source) == .bool(every))
    #expect(try quantified(.anyAndEvery, over: source) == .bool(both))
  }

  @Test func `what is no array or object gives MISSING, and null NULL`() throws {
    for quantifier in [Quantifier.any, .every, .anyAndEvery] {
      try expectEqual(quantified(quantifier, over: .null), .null)
      try expect(quantified(quantifier, over: nil) == nil)
      try expect(quantified(quantifier, over: .string("abc")) == nil)
      try expect(quantified(quantifier, over: .int(5)) == nil)
    }
  }

  @Test func `positions are indexes and keys, and WITHIN goes deeper`() throws {
    let second = Expression.binary(.equal, .variable(Self.i, []), .literal(.int(1)))
    #expect(try quantified(.any, over: .array([.null, .null]), second) == .bool(true))
    #expect(try quantified(.any, over: .array([.null]), second) == .bool(false))
    let key = Expression.binary(.equal, .variable(Self.i, []), .literal(.string("k")))
    #expect(try quantified(.any, over: .map(["k": .null]), key) == .bool(true))
    let nested = Value.array([.int(1), .map(["k": .array([.int(7)])])])
    #expect(try quantified(.any, over: nested) == .bool(false))
    #expect(try quantified(.any, over: nested, deep: true) == .bool(true))
    #expect(try quantified(.any, over: nested, deep: true, key) == .bool(true))
    let part = Expression.binary(.equal, .variable(Self.x, [.key("q")]), .literal(.int(2)))
    #expect(try quantified(.any, over: .array([.map(["q": .int(2)])]), part) == .bool(true))
  }

  @Test func `ARRAY and OBJECT make values of elements`() throws {
    let each = Iteration(position: Self.i, element: Self.x, source: .path([.key("s")]))
    let element = Expression.variable(Self.x, [])
    let known = Expression.isNull(element, negated: true)
    let double = Expression.binary(.multiply, element, .literal(.int(2)))
    func value(_ expression: Expression, _ source: Value?) throws -> Value? {
      try Evaluator.evaluate(expression, row: { _ in source })
    }
    let array = Expression.arrayFor(double, each, when: known)
    #expect(try value(array, .array([.int(1), .null, .string("a"), .int(2)])) == .array([.int(2), .int(4)]))
    #expect(try value(array, .array([])) == .array([]))
    #expect(try value(array, .null) == .null)
    #expect(try value(array, nil) == nil)
    #expect(try value(array, .bool(true)) == .null)
    let object = Expression.objectFor(
      key: .call(.upper, [.variable(Self.i, [])]), value: double, each, when: known)
    #expect(try value(object, .map(["a": .int(1), "b": .string("x")])) == .map(["A": .int(2)]))
    #expect(try value(object, .array([.int(1)])) == .map([:]))
    #expect(try value(object, .null) == .null)
    #expect(try value(object, .int(1)) == .null)
  }

  @Test func `comprehensions inside each other keep their variables apart, and are bounded`() throws {
    let list = Value.array((0..<200).map { .int(Int64($0)) })
    func nested(_ depth: Int, _ inner: Expression) -> Expression {
      (0..<depth).reversed().reduce(inner) { body, slot in
        .quantified(
          .any, Iteration(element: Variable("v\(slot)", slot: slot), source: .literal(list)), satisfies: body)
      }
    }
    let sum = Expression.binary(
      .add, .variable(Variable("v0", slot: 0), []),
      .binary(.multiply, .variable(Variable("v1", slot: 1), []), .literal(.int(1_000))))
    let found = nested(2, .binary(.equal, sum, .literal(.int(19_003))))
    #expect(try Evaluator.evaluate(constant: found) == .bool(true))
    let endless = nested(9, .literal(.bool(false)))
    var matcher = try RecordMatcher(
      .and([.path([.key("a")]), endless]), context: StatementContext(.still, steps: 1 << 18))
    var tables = RecordTables()
    let stamping = Stamping(site: SiteID(high: 1, low: 2), reading: ClockReading(rawValue: 1 << 20))
    let encoded = try DocumentCodec.upsert(
      ["a": .bool(true)], strategy: .merge, existing: nil, stamping: stamping, tables: &tables)
    let record = Record(bytes: try #require(encoded).record)
    let id = try DocumentID("x").bytes
    matcher.resolve(tables.keys)
    #expect(!record.withView { matcher.matches(id.span.bytes, $0) })
  }
}
