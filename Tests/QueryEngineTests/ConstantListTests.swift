import CRDTCore
import QueryEngine
import TestKit
import Testing

/// A constant list is hashed once, and says of every value what going through it says.
@Suite struct ConstantListTests {
  private static let values: [Value?] = [
    nil, .null, .bool(true), .bool(false), .int(0), .int(1), .int(1 << 53), .int((1 << 53) + 1), .int(.max),
    .int(.min), .counter(1), .double(.nan), .double(0), .double(-0.0), .double(1), .double(0x1p53),
    .double(0x1p63), .double(0.5), .double(.infinity), .string(""), .string("a"), .string("A"),
    .string("\u{E9}"), .string("e\u{301}"), .string("1.3"), .string("1.30"), .bytes([]), .bytes([97]),
    .array([.int(1)]), .array([.double(1)]), .map(["a": .int(1)]), .map(["a": .double(1)]), .map([:]),
  ]

  /// Constants that make a list long enough to be hashed, and are none of the values.
  private static let filler = (0..<9).map { Value.string("filler \($0)") }

  private static let element = Expression.variable(Variable("e", slot: 0), [])

  /// Every form of the test, of a subject and a list.
  private static let tests: [@Sendable (Expression, Expression) -> Expression] = [
    { .in($0, $1, negated: false) }, { .in($0, $1, negated: true) }, { .call(.arrayContains, [$1, $0]) },
    { quantified(.any, $1, .binary(.equal, element, $0)) },
    { quantified(.any, $1, .binary(.equal, $0, element)) },
    { quantified(.any, $1, .binary(.same, element, $0)) },
    { .in(.collate($0, .caseInsensitive), $1, negated: false) },
    { .in(.collate($0, .caseInsensitive), $1, negated: true) },
    { .in(.call(.lower, [$0]), $1, negated: true) },
    { quantified(.every, $1, .binary(.notEqual, element, $0)) },
    { quantified(.any, $1, .binary(.less, element, $0)) },
    { quantified(.any, $1, .binary(.equal, element, element)) },
    { .or([.in($0, $1, negated: true), .isNull($0, negated: false)]) },
    {
      .in(
        .case([WhenClause(condition: .isMissing($0, negated: true), result: $0)], otherwise: nil), $1,
        negated: false)
    },
  ]

  private static func quantified(
    _ quantifier: Quantifier, _ list: Expression, _ condition: Expression
  ) -> Expression {
    .quantified(quantifier, Iteration(element: Variable("e", slot: 0), source: list), satisfies: condition)
  }

  @Test(arguments: tests.indices) func `agrees with going through it`(number: Int) throws {
    let test = Self.tests[number]
    let field = Expression.path([.key("x")])
    for value in Self.values {
      for other in Self.values {
        for hasNull in [false, true] {
          let list = Self.filler + [other].compactMap { $0 } + (hasNull ? [.null] : [])
          let expression = test(field, .literal(.array(list)))
          let plain = try Evaluator.evaluate(expression, row: { _ in value })
          let hashed = try Evaluator.evaluate(
            constant: test(value.map { .literal($0) } ?? .missing, .literal(.array(list))))
          expectEqual(hashed, plain, "\(expression) of \(String(describing: value))")
          let isAccepted = try matches(expression, value)
          expectEqual(isAccepted, plain == .bool(true), "\(expression) of \(String(describing: value))")
        }
      }
    }
  }

  private func matches(_ predicate: Expression, _ value: Value?) throws -> Bool {
    var tables = RecordTables()
    let stamping = Stamping(site: SiteID(high: 1, low: 2), reading: ClockReading(rawValue: 1 << 20))
    let encoded = try DocumentCodec.upsert(
      value.map { ["x": $0] } ?? [:], strategy: .merge, existing: nil, stamping: stamping, tables: &tables)
    let record = Record(bytes: try #require(encoded).record)
    let id = try DocumentID("x").bytes
    var matcher = try RecordMatcher(predicate)
    matcher.resolve(tables.keys)
    let resolved = matcher
    return record.withView { resolved.matches(id.span.bytes, $0) }
  }
}
