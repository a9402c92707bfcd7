import CRDTCore
import QueryEngine
import TestKit
import Testing

/// Every function has a row, and its forms on values and on records in place agree.
@Suite struct FunctionTableTests {
  /// Arguments of all types, among them those by which dates, types and patterns are named.
  private static let samples: [Value?] =
    [
      nil, .null, .bool(true), .int(0), .int(2), .int(-1), .int(.min), .double(2.5), .double(.nan),
      .counter(3),
      .bytes([1, 2]),
    ]
    + [
      "", "a", "ab", "ÄB é", "b", "12.50", "(", "i", "day", "integer", "1h30m", "+01:00", "YYYY",
      "2026-03-01T23:30:00Z",
    ].map { .string($0) }
    + [
      .array([]), .array([.int(2), .null, .string("a"), .double(2)]), .array([.string("b"), .string("a")]),
      .map([:]), .map(["a": .int(1), "b": .null]),
    ]
  /// They need a statement.
  private static let ofStatements: Set<Function> = [.clock, .requestInfo]
  private static let fields: [TextKey] = ["p", "q", "r", "s", "t", "u"]

  @Test(arguments: Function.allCases.filter { !ofStatements.contains($0) })
  func `a function gives on a record what it gives on values`(function: Function) throws {
    var random = SeededGenerator(seed: function.rawValue.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) })
    var tables = RecordTables()
    let stamping = Stamping(site: SiteID(high: 1, low: 2), reading: ClockReading(rawValue: 1 << 20))
    let most = min(function.arity.upperBound, function.arity.lowerBound + 2, Self.fields.count)
    for draw in 0..<400 {
      let count = function.arity.lowerBound + random.int(below: most - function.arity.lowerBound + 1)
      var document: [TextKey: Value] = ["_id": .string("x")]
      var operands: [Expression] = []
      for (place, field) in Self.fields.prefix(count).enumerated() {
        // The first arguments go through all samples.
        let sample = place == 0 ? Self.samples[draw % Self.samples.count] : random.pick(Self.samples)
        if let sample { document[field] = sample }
        // Constant lists and patterns have forms of their own.
        let isConstant = draw % 3 == 0 && place > 0 || draw % 5 == 0
        operands.append(isConstant ? sample.map { .literal($0) } ?? .missing : .path([.key(field)]))
      }
      let encoded = try DocumentCodec.upsert(
        document.filter { $0.key != "_id" }, strategy: .merge, existing: nil, stamping: stamping,
        tables: &tables)
      let record = Record(bytes: try #require(encoded).record)
      try expectAgreement(.call(function, operands), document, record, tables)
    }
  }

  private func expectAgreement(
    _ call: Expression, _ document: [TextKey: Value], _ record: Record, _ tables: RecordTables
  ) throws {
    let row = { (path: FieldPath) in Value.map(document).value(at: path) }
    let id = try DocumentID(.string("x"))
    let type = Expression.call(.type, [call])
    var expected: Value?
    var predicate: Expression
    do {
      expected = try Evaluator.evaluate(call, row: row)
      let name = try #require(try Evaluator.evaluate(type, row: row))
      predicate = .and([
        .binary(.same, call, .literal(expected ?? .null)), .binary(.equal, type, .literal(name)),
      ])
    } catch let error as QueryError {
      // It fails in place too, so that no result is equal to any.
      // There are no named time zones here.
      expect(error.code != .unsupported || error.message.contains("time zone"), "\(call): \(error)")
      predicate = .binary(.same, call, call)
    }
    var matcher = try RecordMatcher(predicate)
    matcher.resolve(tables.keys)
    let matches = record.withView { matcher.matches(id.bytes.span.bytes, $0) }
    let fails = if case .binary = predicate { true } else { false }
    expectEqual(matches, !fails, "\(call) on \(document), expected \(String(describing: expected))")
  }

  @Test(arguments: Function.allCases) func `a name of a function is that of no other`(function: Function) {
    #expect(function.names.first == function.rawValue)
    for name in function.names {
      // The word EXISTS is an operator.
      expectEqual(Function(name: name), function == .exists ? nil : function)
    }
    #expect(Function.allCases.count { $0.names.contains(function.rawValue) } == 1)
  }

  @Test func `a function is deterministic unless a machine decides its result`() {
    #expect(
      Function.allCases.filter { !$0.isDeterministic } == [
        .power, .exp, .ln, .log10, .clock, .zoneOffset, .requestInfo,
      ])
  }
}
