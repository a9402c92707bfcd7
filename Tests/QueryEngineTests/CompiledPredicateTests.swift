import CRDTCore
import QueryEngine
import TestKit
import Testing

@Suite struct CompiledPredicateTests {
  private func compiled(_ predicate: String, _ arguments: [TextKey: Value] = [:]) throws -> CompiledPredicate
  {
    try SubscriptionQuery(dql: "SELECT * FROM t WHERE \(predicate)", arguments: arguments).compiled
  }

  private func decode(_ bytes: [UInt8]) throws(CodecError) -> CompiledPredicate {
    var reader = ByteReader(bytes.span.bytes)
    return try CompiledPredicate(from: &reader)
  }

  @Test(arguments: [
    ("a = 1", "1 = a"), ("a > 1", "1 < a"), ("a = 1 AND b = 2", "b = 2 AND a = 1"),
    ("a = 1 AND (b = 2 AND c = 3)", "(a = 1 AND b = 2) AND c = 3"), ("a = 1 OR b OR a = 1", "b OR 1 = a"),
    ("a = :x", "a = 4"), ("a = 2 + 2", "a = 4"), ("t.a = 4", "a = 4"), ("a IS  NOT NULL", "a IS NOT NULL"),
  ])
  func `what asks for the same is the same`(left: String, right: String) throws {
    let left = try compiled(left, ["x": .int(4)])
    let right = try compiled(right)
    #expect(left == right && left.hashValue == right.hashValue && !(left < right) && !(right < left))
    #expect(left.bytes == right.bytes)
  }

  @Test func `what asks for something else is another one, in a total order`() throws {
    let texts = [
      "a = 1", "a = 1.5", "a = '1'", "a != 1", "b = 1", "a.b = 1", "a[1] = 1", "a AND b", "a OR b", "NOT a",
      "a IN [1]", "a IN [1, 2]", "a LIKE 'x'", "a ILIKE 'x'", "a NOT LIKE 'x'", "a IS NULL", "a IS MISSING",
      "a BETWEEN 1 AND 2", "lower(a) = 'x'", "upper(a) = 'x'", "a - b = 1", "b - a = 1",
      "CASE WHEN a THEN b END", "CASE WHEN a THEN b ELSE c END", "[a, b] = c", "a || b = c",
    ]
    let all = try texts.map { try compiled($0) } + [SubscriptionQuery(dql: "SELECT * FROM t").compiled]
    #expect(Set(all).count == all.count)
    let sorted = all.sorted()
    for (left, right) in zip(sorted, sorted.dropFirst()) { expect(left < right && !(right < left)) }
  }

  @Test(arguments: 0..<20) func `a predicate survives its encoding and matches the same`(seed: UInt64) throws
  {
    var queries = RandomQueries(seed: seed)
    for _ in 0..<60 {
      let predicate = queries.predicate(depth: 4)
      let compiled = try CompiledPredicate(predicate)
      var writer = ByteWriter()
      compiled.encode(to: &writer)
      let decoded = try decode(writer.bytes)
      expectEqual(decoded, compiled)
      for _ in 0..<10 {
        let document = queries.document()
        let row: (FieldPath) -> Value? = { path in
          path.first == .key("_id") ? nil : Value.map(document).value(at: path)
        }
        let left = try Evaluator.evaluate(predicate.binding([:]), row: row) == .bool(true)
        let right = try decoded.expression.map { try Evaluator.evaluate($0, row: row) } == .bool(true)
        expectEqual(left, right, "seed \(seed): \(predicate)")
      }
    }
  }

  @Test(arguments: 0..<40) func `damaged bytes are refused or are another predicate`(seed: UInt64) throws {
    var queries = RandomQueries(seed: seed)
    var random = SeededGenerator(seed: seed)
    for _ in 0..<40 {
      var writer = ByteWriter()
      try CompiledPredicate(queries.predicate(depth: 3)).encode(to: &writer)
      var bytes = writer.bytes
      for _ in 0...random.int(below: 3) {
        bytes[random.int(below: bytes.count)] = UInt8(truncatingIfNeeded: random.next())
      }
      if random.oneIn(3) { bytes.removeLast(random.int(below: bytes.count)) }
      guard let decoded = try? decode(bytes) else { continue }
      var again = ByteWriter()
      decoded.encode(to: &again)
      try expectEqual(decode(again.bytes), decoded)
    }
  }

  @Test func `what is nested too deeply or bound nowhere is refused`() throws {
    let deep = [UInt8](repeating: 5, count: 4_000).enumerated().map { $0.offset % 2 == 0 ? 5 : UInt8(1) }
    var writer = ByteWriter()
    writer.writeBlob(deep)
    #expect(throws: CodecError.self) { try decode(writer.bytes) }
    var variable = ByteWriter()
    variable.writeBlob([4, 9, 0])
    #expect(throws: CodecError.self) { try decode(variable.bytes) }
  }
}
