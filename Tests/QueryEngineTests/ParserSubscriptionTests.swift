import CRDTCore
import QueryEngine
import TestKit
import Testing

@Suite struct ParserSubscriptionTests {
  private func decode(_ bytes: [UInt8]) throws(CodecError) -> SubscriptionQuery {
    var reader = ByteReader(bytes.span.bytes)
    return try SubscriptionQuery(from: &reader)
  }

  @Test(arguments: [
    ("SELECT _id FROM c", "A projection other than wildcard (*)"),
    ("SELECT COUNT(*) FROM c", "A projection other than wildcard (*)"),
    ("SELECT DISTINCT * FROM c", "DISTINCT"), ("SELECT * FROM c ORDER BY a", "Limit or Order by"),
    ("SELECT * FROM c LIMIT 1", "Limit or Order by"),
    ("SELECT * FROM c USE IDS '1'", "USE IDS"), ("SELECT * FROM c GROUP BY a", "Grouping"),
    ("SELECT * FROM c HAVING a", "HAVING"),
    ("SELECT * FROM c OFFSET 1", "OFFSET"), ("SELECT * FROM system:dual", "virtual"),
    ("UPDATE c SET a = 1", "non-SELECT statement in sync subscription"),
    ("EXPLAIN SELECT * FROM c", "non-SELECT statement in sync subscription"),
  ])
  func `anything but a filter of one collection is refused by name`(text: String, feature: String) throws {
    let error = try #require(throws: QueryError.self) { try SubscriptionQuery(dql: text) }
    #expect(error.code == .unsupported)
    #expect(error.message.hasPrefix("Unsupported feature: "))
    #expect(error.message.contains(feature))
  }

  @Test func `a query is named as one statement`() throws {
    let text = "SELECT * FROM c WHERE a = :a"
    #expect(try SubscriptionQuery(dql: text, arguments: ["a": .int(1)]).statement == text)
    #expect(try SubscriptionQuery(collection: "c", builder: "true").statement == "SELECT * FROM c")
    #expect(
      try SubscriptionQuery(collection: "my cars", builder: "a == 1 && b > 2").statement
        == "SELECT * FROM `my cars` WHERE a == 1 && b > 2")
  }

  @Test func `a query survives its encoding`() throws {
    let queries = [
      try SubscriptionQuery(dql: "SELECT * FROM c"),
      try SubscriptionQuery(
        dql: "SELECT * FROM c WHERE a IN :ids AND b = :b", arguments: ["b": .null, "ids": .array([.int(1)])]),
      try SubscriptionQuery(
        collection: "cars", builder: "color == $args.c", arguments: ["c": .string("red"), "unused": .int(1)]),
      try SubscriptionQuery(collection: "cars", builder: "true"),
    ]
    for query in queries {
      var writer = ByteWriter()
      query.encode(to: &writer)
      let decoded = try decode(writer.bytes)
      expectEqual(decoded, query)
      expectEqual(decoded.predicate, query.predicate)
      var again = ByteWriter()
      decoded.encode(to: &again)
      expectEqual(again.bytes, writer.bytes)
    }
    #expect(queries[2].arguments == ["c": .string("red")])
    #expect(queries[3].predicate == nil)
  }

  @Test func `a parameter without an argument and too large arguments are refused`() throws {
    let missing = try #require(throws: QueryError.self) {
      try SubscriptionQuery(dql: "SELECT * FROM c WHERE a = :a")
    }
    #expect(missing.code == .argument)
    let large = Value.string(String(repeating: "x", count: 70_000))
    let error = try #require(throws: QueryError.self) {
      try SubscriptionQuery(dql: "SELECT * FROM c WHERE a = :a", arguments: ["a": large])
    }
    #expect(error.code == .limit)
    let deep = (0..<100).reduce(Value.null) { value, _ in .array([value]) }
    let nested = try #require(throws: QueryError.self) {
      try SubscriptionQuery(dql: "SELECT * FROM c WHERE a = :a", arguments: ["a": deep])
    }
    #expect(nested.code == .limit)
    #expect(throws: QueryError.self) { try SubscriptionQuery(collection: "", builder: "true") }
    #expect(throws: QueryError.self) {
      try SubscriptionQuery(collection: String(repeating: "c", count: 101), builder: "true")
    }
  }

  @Test func `a bad query from a peer leaves the reader behind it`() throws {
    var writer = ByteWriter()
    writer.write(0)
    writer.writeString("c")
    writer.writeString("SELECT FROM")
    writer.writeVarint(0)
    writer.write(77)
    let bytes = writer.bytes
    var reader = ByteReader(bytes.span.bytes)
    var thrown: CodecError?
    do { _ = try SubscriptionQuery(from: &reader) } catch { thrown = error }
    #expect(thrown?.code == .malformed)
    #expect(try reader.readByte() == 77)
  }

  @Test func `a query that names two collections is refused`() throws {
    var writer = ByteWriter()
    writer.write(0)
    writer.writeString("d")
    writer.writeString("SELECT * FROM c")
    writer.writeVarint(0)
    #expect(throws: CodecError.self) { try decode(writer.bytes) }
  }

  @Test(arguments: 0..<64)
  func `damaged bytes never do more than fail`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let query = try SubscriptionQuery(
      dql: "SELECT * FROM c WHERE a = :a AND b LIKE 'x%'", arguments: ["a": .map(["k": .array([.int(5)])])])
    var writer = ByteWriter()
    query.encode(to: &writer)
    for _ in 0..<100 {
      var bytes = writer.bytes
      for _ in 0...random.int(below: 3) {
        bytes[random.int(below: bytes.count)] = UInt8(truncatingIfNeeded: random.next())
      }
      if random.oneIn(2) { bytes.removeLast(random.int(below: bytes.count)) }
      _ = try? decode(bytes)
      _ = try? decode(random.bytes(below: 100))
    }
  }
}
