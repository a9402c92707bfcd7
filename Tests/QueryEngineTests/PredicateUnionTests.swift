import CRDTCore
import DocStore
import Foundation
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
          expectEqual(together.accepts(id, record), isAccepted)
          if isAccepted { accepted += 1 } else { refused += 1 }
          return true
        }
      }
    }
    #expect(accepted > 10 && refused > 10)
  }

  @Test func `constants take few bytes each, and predicates that share one are all asked`() throws {
    let workload = try LiveWorkload()
    let (lists, each, overlap) = (40, 100, 30)
    var union = PredicateUnion()
    var matchers: [RecordMatcher] = []
    for list in 0..<lists {
      let numbers = (0..<each).map { "\(list * (each - overlap) + $0)" }.joined(separator: ",")
      let predicate = try CompiledPredicate(DQL.parseExpression("n IN (\(numbers))"))
      union.insert(predicate)
      matchers.append(predicate.matcher)
    }
    // Ten to fifteen bytes for each constant, and twelve for each place of those that two lists share.
    let constants = lists * (each - overlap) + overlap
    #expect(union.constantBytes <= constants * 16 + 2 * lists * overlap * 24)
    _ = try workload.store.write { transaction in
      for n in -5..<Int64(constants) + 5 {
        try transaction.upsert(["_id": .int(n), "n": .int(n)], into: "t")
      }
    }
    try workload.store.read { transaction in
      let collection = try #require(try transaction.collection("t"))
      union.resolve(collection.keys)
      for index in matchers.indices { matchers[index].resolve(collection.keys) }
      let (together, alone) = (union, matchers)
      var accepted = 0
      try transaction.forEachRecord(in: collection) { id, _, record in
        let accepting = alone.indices.filter { alone[$0].matches(id, record) }
        #expect(Set(together.candidates(id, record)).isSuperset(of: accepting))
        #expect(together.accepts(id, record) == !accepting.isEmpty)
        accepted += accepting.isEmpty ? 0 : 1
        return true
      }
      #expect(accepted == constants)
    }
  }

  private static let words = [
    "alpha", "ALPHA", "beta", "Übermut", "übermut", "\u{212A}elvin", "kelvin", "naïve", "straße", "λόγος",
    "ΛΌΓΟΣ",
    "\u{23A}bcd", "\u{2C65}BCD", "漢字と仮名", "a", "x_y", "100%", "gamma delta",
  ]

  private static func text(_ random: inout SeededGenerator) -> String {
    (0..<random.int(below: 9)).map { _ in random.pick(words) }.joined(
      separator: random.pick([" ", "", ", "]))
  }

  /// A predicate that looks for texts, one way or another.
  private static func search(_ random: inout SeededGenerator, depth: Int) -> String {
    if depth > 0, random.oneIn(3) {
      let terms = (0...random.int(below: 3)).map { _ in search(&random, depth: depth - 1) }
      return "(" + terms.joined(separator: random.pick([" OR ", " AND "])) + ")"
    }
    let field = random.pick(["text", "text", "o.text", "tags[0]", "n", "lower(text)"])
    var part = text(&random)
    if random.oneIn(2) {
      part = String(part.unicodeScalars.prefix(random.int(below: 12)).map(Character.init))
    }
    if random.oneIn(3) { part = random.oneIn(2) ? part.uppercased() : part.lowercased() }
    let pattern =
      random.pick(["", "%", "%"]) + part + random.pick(["", "%", "%", "_%", "%" + random.pick(words) + "%"])
    switch random.int(below: 10) {
    case 0...3: return "\(field) ILIKE '\(pattern)'"
    case 4: return "\(field) LIKE '\(pattern)'"
    case 5: return "\(field) ILIKE '\(pattern)' ESCAPE 'a'"
    case 6: return "\(field) NOT ILIKE '\(pattern)'"
    case 7: return "\(random.pick(["contains", "starts_with", "ends_with"]))(\(field), '\(part)')"
    case 8: return "n = \(random.int(below: 5))"
    default: return "text = '\(part)'"
    }
  }

  @Test(arguments: 0..<12)
  func `a document is accepted if it has a text that one of many predicates looks for`(seed: UInt64) throws {
    let workload = try LiveWorkload()
    var random = SeededGenerator(seed: seed)
    _ = try workload.store.write { transaction in
      for number in 0..<60 {
        let text = Value.string(Self.text(&random))
        try transaction.upsert(
          [
            "_id": .int(Int64(number)), "text": random.oneIn(9) ? .int(4) : text,
            "n": .int(Int64(number % 9)),
            "o": .map(["text": .string(Self.text(&random))]), "tags": .array([.string(Self.text(&random))]),
          ], into: "t")
      }
    }
    var (accepted, refused, missed) = (0, 0, 0)
    for count in [5, 9, 40] {
      var union = PredicateUnion()
      var matchers: [RecordMatcher] = []
      while matchers.count < count {
        let predicate = try CompiledPredicate(DQL.parseExpression(Self.search(&random, depth: 2)))
        // What nearly all documents match says nothing of the others.
        guard random.oneIn(6) || !"\(predicate.expression as Any)".contains("NOT") else { continue }
        union.insert(predicate)
        matchers.append(predicate.matcher)
      }
      try workload.store.read { transaction in
        let collection = try #require(try transaction.collection("t"))
        union.resolve(collection.keys)
        for index in matchers.indices { matchers[index].resolve(collection.keys) }
        let (together, alone) = (union, matchers)
        try transaction.forEachRecord(in: collection) { id, _, record in
          let accepting = alone.indices.filter { alone[$0].matches(id, record) }
          let candidates = together.candidates(id, record)
          let isAccepted = together.accepts(id, record)
          expectEqual(isAccepted, !accepting.isEmpty)
          expect(Set(candidates).isSuperset(of: accepting))
          expectEqual(Set(candidates).count, candidates.count)
          if accepting.isEmpty { refused += 1 } else { accepted += 1 }
          missed += alone.count - candidates.count
          return true
        }
      }
    }
    #expect(accepted > 10 && missed > 100, "\(refused)")
  }

  @Test(arguments: [
    "text ILIKE '%word #%'", "text LIKE 'word #%'", "contains(text, 'word #')", "o.text ILIKE '_word #'",
  ])
  func `a text is gone through once for many predicates, which are not asked one by one`(predicate: String)
    throws
  {
    let workload = try LiveWorkload()
    let text = Value.string(
      "Some words, and no word of those that are sought: word 3 of 4. " + Self.words.joined())
    _ = try workload.store.write {
      try $0.upsert(["_id": .string("a"), "text": text, "o": .map(["text": text])], into: "t")
    }
    var union = PredicateUnion()
    for number in 0..<256 {
      let text = predicate.replacing("#", with: "\(1_000 + number * 7)")
      union.insert(try CompiledPredicate(DQL.parseExpression(text)))
    }
    try workload.store.read { transaction in
      let collection = try #require(try transaction.collection("t"))
      union.resolve(collection.keys)
      let union = union
      try transaction.forEachRecord(in: collection) { id, _, record in
        let (isAccepted, candidates) = (union.accepts(id, record), union.candidates(id, record))
        #expect(!isAccepted)
        #expect(candidates.count < 8)
        return true
      }
    }
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
