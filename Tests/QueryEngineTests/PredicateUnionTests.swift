import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// Many predicates together accept what any of them accepts alone.
@Suite struct PredicateUnionTests {
  @Test(arguments: 0..<8)
  func `a document is accepted if one of many predicates accepts it`(seed: UInt64) throws {
    let workload = try LiveWorkload()
    var queries = RandomQueries(seed: seed)
    let documents = (0..<120).map { _ in
      queries.document().merging(["_id": queries.id()]) { $1 }
    }
    _ = try workload.store.write { for document in documents { try $0.upsert(document, into: "t") } }
    var (accepted, refused) = (0, 0)
    for count in [1, 4, 5, 12, 60] {
      var union = PredicateUnion()
      var matchers: [RecordMatcher] = []
      for number in 0..<count {
        let constant = try CompiledPredicate(
          DQL.parseExpression(number % 2 == 0 ? "n = \(number)" : "_id IN ['a', 'b\(number)']"))
        let predicate = number % 5 == 4 ? try CompiledPredicate(queries.predicate(depth: 2)) : constant
        union.insert(predicate)
        matchers.append(predicate.matcher)
      }
      try workload.store.read { transaction in
        let collection = try #require(try transaction.collection("t"))
        union.resolve(collection.keys)
        for index in matchers.indices { matchers[index].resolve(collection.keys) }
        let together = union
        let alone = matchers
        try transaction.forEachRecord(in: collection) { id, _, record in
          var isAccepted = false
          for matcher in alone where matcher.matches(id, record) { isAccepted = true }
          #expect(together.accepts(id, record) == isAccepted)
          if isAccepted { accepted += 1 } else { refused += 1 }
          return true
        }
      }
    }
    #expect(accepted > 10 && refused > 10)
  }

  @Test(arguments: [
    ("a = '" + String(repeating: "x", count: 17_000) + "'", 0),
    ((0..<700).map { "a = \($0)" }.joined(separator: " OR "), 0),
    (String(repeating: "(", count: 100) + "a" + String(repeating: ")", count: 100), 0),
    (String(repeating: "NOT ", count: 100) + "a", 0),
    ("a = :x", 70_000),
    // Each use of an argument counts in the predicate.
    ((0..<5).map { "f\($0) = :x" }.joined(separator: " OR "), 60_000),
  ])
  func `a subscription that is too large in any way is refused`(predicate: String, bytes: Int) throws {
    let arguments: [TextKey: Value] = ["x": Value.string(String(repeating: "y", count: bytes))]
    let error = try #require(throws: QueryError.self) {
      try SubscriptionQuery(dql: "SELECT * FROM c WHERE \(predicate)", arguments: arguments)
    }
    #expect(error.code == .limit, "\(error.message)")
  }

  @Test func `a predicate of more bytes than one may have is refused when it is read`() throws {
    var writer = ByteWriter()
    writer.writeBlob([UInt8](repeating: 1, count: CompiledPredicate.byteLimit + 1))
    let bytes = writer.bytes
    let error = try #require(throws: CodecError.self) {
      var reader = ByteReader(bytes.span.bytes)
      _ = try CompiledPredicate(from: &reader)
    }
    #expect(error.code == .limit)
  }
}
