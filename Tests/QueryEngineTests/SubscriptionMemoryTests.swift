import CRDTCore
import QueryEngine
import TestKit
import Testing

/// What a subscription takes in memory, as accounts see it.
@Suite struct SubscriptionMemoryTests {
  private static let numbers = (0..<800).map { "\($0 + 100_000)" }.joined(separator: ",")
  private static let texts = (0..<400).map { "'text number \($0 + 100_000)'" }.joined(separator: ",")
  private static let long = String(repeating: "x", count: 12_000)

  /// The memory that 256 such queries and their union allocate, divided by 256, measured on Linux.
  @Test(arguments: [
    ("text ILIKE '%needle1%'", 1_019), ("text ILIKE '_eedle1%'", 1_538),
    ("contains(lower(text), 'needle1')", 1_600),
    ("regexp_like(text, '(ab|cd)+needle1[0-9]+')", 2_524), ("text SIMILAR TO '%needle1%'", 1_972),
    ("text = 'needle1'", 843), ("n = 1", 769), ("text ILIKE '%a%' OR n = 1", 1_506),
    ("a IN (\(numbers))", 79_517), ("a IN (\(texts))", 91_807), ("a = '\(long)'", 48_902),
    ((0..<220).map { "n = \($0)" }.joined(separator: " OR "), 76_286),
    ((0..<100).map { "text ILIKE '%w\($0) 17%'" }.joined(separator: " OR "), 50_037),
    ("regexp_like(text, 'a{900}1')", 13_852), ("text ILIKE '%\(String(long.prefix(4_000)))_%'", 17_102),
  ])
  func `the memory of a subscription is known within a factor of two`(predicate: String, measured: Int) throws
  {
    let query = try SubscriptionQuery(dql: "SELECT * FROM c WHERE \(predicate)")
    let known = query.memoryBytes
    #expect(known <= 2 * measured && measured <= 2 * known, "\(known)")
    #expect(query.compiled.memoryBytes < known)
  }

  @Test func `the memory of arguments counts`() throws {
    let list = Value.array((0..<800).map { .int($0 + 100_000) })
    let query = try SubscriptionQuery(dql: "SELECT * FROM c WHERE a IN :l", arguments: ["l": list])
    #expect((40_000...160_000).contains(query.memoryBytes), "\(query.memoryBytes)")
    let text = Value.string(String(repeating: "x", count: 50_000))
    let long = try SubscriptionQuery(dql: "SELECT * FROM c WHERE a = :x", arguments: ["x": text])
    #expect((75_000...300_000).contains(long.memoryBytes), "\(long.memoryBytes)")
  }

  @Test(arguments: [
    "text ILIKE '%needle%'", "text ILIKE '%né_dle%foo%'", "text LIKE '%needle%'", "contains(text, 'needle')",
    "contains(lower(text), 'needle')", "regexp_like(text, 'needle[0-9]', 'i')", "text SIMILAR TO '%needle%'",
  ])
  func `a subscription that looks for a text takes little`(predicate: String) throws {
    #expect(try SubscriptionQuery(dql: "SELECT * FROM c WHERE \(predicate)").compiled.memoryBytes < 2 << 10)
  }

  @Test func `long patterns take memory by their bytes and states`() throws {
    let memory = { (predicate: String) throws in
      try SubscriptionQuery(dql: "SELECT * FROM c WHERE \(predicate)").memoryBytes
    }
    let letters = String((0..<4_000).map { Character(Unicode.Scalar(UInt8(0x61 + $0 % 26))) })
    #expect(try memory("text ILIKE '%\(letters)_'") < 8 * 4_000)
    #expect(try memory("regexp_like(text, 'a{900}')") < 16 * 900)
    let wide = String((0..<900).compactMap { Unicode.Scalar(0x4E00 + $0).map(Character.init) })
    #expect(try memory("regexp_like(text, '\(wide)')") < 96 * 900)
  }

  @Test func `the steps of an evaluation follow the predicate's nodes and the states of regular expressions`()
    throws
  {
    let steps = { (predicate: String) throws in
      try SubscriptionQuery(dql: "SELECT * FROM c WHERE \(predicate)").compiled.evaluationSteps
    }
    #expect(try SubscriptionQuery(dql: "SELECT * FROM c").compiled.evaluationSteps == 0)
    #expect(try steps("n = 1") == 3)
    #expect(try steps("n = 1 AND m = 2") == 7)
    #expect(try steps("a IN (\(Self.numbers))") == 3)
    #expect(try steps("text ILIKE '%needle%'") == 3)
    #expect(try steps("regexp_like(text, 'a{900}')") > 900)
  }

  /// Patterns whose automata have very many states.
  @Test func `the automata of regular expressions share a bounded memory and answer the same without it`()
    throws
  {
    var random = SeededGenerator(seed: 4)
    let pool = AutomatonPool.shared
    let text = String((0..<1_500).map { _ in Character(random.pick(["a", "b"])) })
    var matchers: [RecordMatcher] = []
    for number in 0..<60 {
      let pattern = "(a|b)*a(a|b){\(21 + number % 3 * 2)}c\(number)$"
      let expression = Expression.call(.regexpLike, [.path([.key("text")]), .literal(.string(pattern))])
      matchers.append(try RecordMatcher(expression))
    }
    var tables = RecordTables()
    for round in 0..<2 {
      for number in matchers.indices {
        for suffix in ["", "\(round == 0 ? text : "aa")" + String(repeating: "ab", count: 13) + "c\(number)"]
        {
          let stamping = Stamping(site: SiteID(high: 1, low: 2), reading: ClockReading(rawValue: 1 << 20))
          let encoded = try DocumentCodec.upsert(
            ["text": .string(text.prefix(400) + suffix)], strategy: .merge, existing: nil, stamping: stamping,
            tables: &tables)
          let record = Record(bytes: try #require(encoded).record)
          matchers[number].resolve(tables.keys)
          let isMatch = record.withView { matchers[number].matches([0x78].span.bytes, $0) }
          expectEqual(isMatch, !suffix.isEmpty)
          expect(pool.byteCount <= pool.byteLimit)
        }
      }
    }
    #expect(pool.byteCount > pool.byteLimit / 4)
  }
}
