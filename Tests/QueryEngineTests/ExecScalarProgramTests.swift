import CRDTCore
import QueryEngine
import TestKit
import Testing

/// Conditions run in place on records: every expression gives what the evaluator gives on values.
@Suite struct ExecScalarProgramTests {
  private struct Sample {
    var id: DocumentID
    var fields: [TextKey: Value]
    var record: Record

    var whole: [TextKey: Value] { fields.merging(["_id": id.value]) { $1 } }
  }

  private func samples(_ queries: inout RandomQueries, _ tables: inout RecordTables) throws -> [Sample] {
    let stamping = Stamping(site: SiteID(high: 1, low: 2), reading: ClockReading(rawValue: 1 << 20))
    return try (0..<40).map { _ in
      let fields = queries.document()
      let encoded = try DocumentCodec.upsert(
        fields, strategy: .merge, existing: nil, stamping: stamping, tables: &tables)
      return Sample(
        id: try DocumentID(queries.id()), fields: fields,
        record: Record(bytes: try #require(encoded).record))
    }
  }

  private func expectAgreement(
    _ predicate: Expression, _ samples: [Sample], _ tables: RecordTables, _ comment: Comment
  ) throws {
    var matcher = try RecordMatcher(predicate)
    matcher.resolve(tables.keys)
    for sample in samples {
      let whole = sample.whole
      let expected = try Evaluator.matches(predicate, row: { Value.map(whole).value(at: $0) })
      let answer = sample.record.withView { matcher.matches(sample.id.bytes.span.bytes, $0) }
      expectEqual(answer, expected, "\(comment): \(predicate) on \(whole)")
    }
  }

  @Test(arguments: 0..<20) func `gives what the evaluator gives`(seed: UInt64) throws {
    var queries = RandomQueries(seed: seed)
    var tables = RecordTables()
    let samples = try samples(&queries, &tables)
    for _ in 0..<60 {
      // The value cannot be seen from outside. So the program compares it with the value that one of the
      // documents gives.
      let expression = queries.expression(depth: 3)
      let whole = samples[queries.random.int(below: samples.count)].whole
      let value = try Evaluator.evaluate(expression, row: { Value.map(whole).value(at: $0) })
      let predicate = Expression.binary(.same, expression, .literal(value ?? .null))
      try expectAgreement(predicate, samples, tables, "seed \(seed)")
      try expectAgreement(.isMissing(expression, negated: false), samples, tables, "seed \(seed)")
      try expectAgreement(
        .binary(.equal, .call(.type, [expression]), .literal(.string("integer"))), samples, tables,
        "seed \(seed)")
    }
  }

  @Test func `reads elements of arrays where they stand`() throws {
    var tables = RecordTables()
    var queries = RandomQueries(seed: 1)
    _ = try samples(&queries, &tables)
    let stamping = Stamping(site: SiteID(high: 1, low: 2), reading: ClockReading(rawValue: 1 << 20))
    let fields: [TextKey: Value] = [
      "tags": .array([
        .string("red"), .null, .int(-3), .double(2.5), .bytes([7]), .bool(true),
        .array([.int(1), .string("in")]),
        .map(["k": .string("v"), "n": .array([.int(9)])]),
      ])
    ]
    let encoded = try DocumentCodec.upsert(
      fields, strategy: .merge, existing: nil, stamping: stamping, tables: &tables)
    let sample = Sample(
      id: try DocumentID("x"), fields: fields, record: Record(bytes: try #require(encoded).record))
    for text in [
      "tags[0] = 'red'", "tags[1] IS NULL", "tags[2] + 4 = 1", "tags[3] > 2", "tags[5]", "tags[6][1] = 'in'",
      "tags[7].k = 'v'", "tags[7].n[0] = 9", "tags[8] IS MISSING", "array_length(tags) = 8",
      "array_contains(tags, 2.5)", "array_contains(tags, -3.0)", "array_contains_null(tags)", "'red' IN tags",
      "ANY t IN tags SATISFIES t = 'red' END", "EVERY t IN tags SATISFIES t != 'blue' END",
      "ANY i : t IN tags SATISFIES i = 2 AND t = -3 END",
      "ANY t IN tags SATISFIES ANY u IN t SATISFIES u = 'in' END END",
      "ANY t IN tags SATISFIES t.k = 'v' END", "ANY k : t IN tags[7] SATISFIES k = 'n' AND t[0] = 9 END",
      "tags[6] = tags[6]", "type(tags[4]) = 'binary'", "upper(tags[0]) || '!' = 'RED!'",
      "substr(tags[0], -2, 1) = 'e'",
    ] {
      let predicate = try DQL.parseExpression(text)
      try expectAgreement(predicate, [sample], tables, "\(text)")
    }
  }

  @Test func `ends an expression that makes too much`() throws {
    var tables = RecordTables()
    var queries = RandomQueries(seed: 1)
    let samples = try samples(&queries, &tables)
    var matcher = try RecordMatcher(
      DQL.parseExpression("char_length(concat(repeat('x', 30000000), repeat('y', 30000000), a)) > 1"))
    matcher.resolve(tables.keys)
    let sample = try #require(samples.first)
    #expect(!sample.record.withView { matcher.matches(sample.id.bytes.span.bytes, $0) })
  }
}
