import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@Suite struct EvaluatorLikeTests {
  @Test(arguments: [
    ("abc", "abc", true), ("abc", "ab", false), ("ab", "abc", false), ("", "", true), ("", "%", true),
    ("", "_", false),
    ("Saab", "_aab", true), ("Saab", "S%", true), ("Saab", "%b", true), ("Saab", "%aa%", true),
    ("Saab", "%x%", false),
    ("abc", "a%c", true), ("abc", "a%b", false), ("aXbXc", "a%X%c", true), ("aaa", "%a%a%a%", true),
    ("aa", "%a%a%a%", false),
    ("é", "_", true), ("😀x", "_x", true), ("50%", "50\\%", true), ("500", "50\\%", false),
    ("a_b", "a\\_b", true), ("axb", "a\\_b", false),
    ("a\\b", "a\\\\b", true), ("a\\", "a\\", true), ("abc", "ABC", false), ("anything at all", "%%%", true),
    ("ab", "__", true), ("abc", "__", false),
  ])
  func `wildcards stand for text`(text: String, pattern: String, expected: Bool) throws {
    #expect(try #require(LikePattern(pattern)).matches(text) == expected)
  }

  @Test(arguments: [
    ("SAAB", "saab", true), ("ÄRA", "ä%", true), ("saab", "S_AB", true), ("saab", "x%", false),
    ("İ", "İ", true), ("İ", "i%", false), ("\u{212A}", "k", true), ("k", "\u{212A}", true),
    ("xx\u{212A}yy", "%\u{212A}y%", true), ("ΣΑΣ", "σασ", true), ("ς", "Σ", false), ("ſ", "s", false),
    ("\u{23A}b", "\u{2C65}B", true), ("\u{2C65}b", "%\u{23A}%", true), ("ẞ", "ß", true), ("ß", "SS", false),
    ("\u{1C90}", "\u{10D0}", true), ("\u{10400}x", "\u{10428}_", true), ("СЛОВО и дело", "%слово_И%", true),
    ("漢字ABC", "漢字a%", true), ("", "", true), ("A", "", false), ("Ab", "%", true), ("AXBXC", "a%x%C", true),
    ("AXBXC", "a%x%x%c", true), ("AXBXC", "a%x%x%x%c", false), ("ABA", "ab%ba", false), ("AA", "a%a", true),
  ])
  func `ILIKE does not look at case`(text: String, pattern: String, expected: Bool) throws {
    #expect(try #require(LikePattern(pattern, caseInsensitive: true)).matches(text) == expected)
  }

  @Test func `an escape is one scalar, and a pattern has a bounded length`() {
    #expect(LikePattern("50!%", escape: "!")?.matches("50%") == true)
    #expect(LikePattern("50!%%", escape: "!")?.matches("500 off") == false)
    #expect(LikePattern("a", escape: "") == nil)
    #expect(LikePattern("a", escape: "ab") == nil)
    #expect(LikePattern(String(repeating: "a", count: 5_000)) == nil)
  }

  @Test func `long patterns match across machine words`() throws {
    for count in [62, 63, 64, 65, 127, 128, 129, 1_000] {
      let text = String(repeating: "ab", count: count / 2) + (count % 2 == 1 ? "a" : "")
      try expect(#require(LikePattern(text)).matches(text))
      try expect(#require(LikePattern("%" + text + "%")).matches("xx" + text + "yy"))
      try expect(#require(LikePattern(String(repeating: "_", count: count))).matches(text))
      try expect(!#require(LikePattern(String(repeating: "_", count: count))).matches(text + "a"))
      try expect(!#require(LikePattern(text + "x")).matches(text))
    }
  }

  @Test func `no pattern makes matching slow`() throws {
    let text = String(repeating: "a", count: 200_000)
    let pattern = String(repeating: "%a_", count: 1_000) + "b"
    let compiled = try #require(LikePattern(pattern))
    let spent = ContinuousClock().measure { #expect(!compiled.matches(text)) }
    #expect(spent < .seconds(20))
  }

  @Test(arguments: 0..<20)
  func `patterns match what a recursive definition matches`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      let text = (0..<random.int(below: 12)).map { _ in random.pick(["a", "b", "é", "😀"]) }.joined()
      let pattern = (0..<random.int(below: 9)).map { _ in random.pick(["a", "b", "é", "%", "_"]) }.joined()
      let expected = Self.reference(Array(text.unicodeScalars)[...], Array(pattern.unicodeScalars)[...])
      try expectEqual(#require(LikePattern(pattern)).matches(text), expected, "\(text) \(pattern)")
    }
  }

  /// What a pattern says of bytes as they were read before texts were searched: one scalar at a time.
  @Test(arguments: 0..<10)
  func `patterns match any bytes as their scalars are read`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let letters = [
      "a", "A", "b", "é", "É", "k", "\u{212A}", "\u{23A}", "\u{2C65}", "İ", "%", "_", "ab", "Abab",
    ]
    for round in 0..<150 {
      var text = (0..<random.int(below: 30)).flatMap { _ in Array(random.pick(letters).utf8) }
      // Some that are no UTF-8.
      if round % 5 == 0, !text.isEmpty { text[random.int(below: text.count)] = UInt8(random.int(below: 256)) }
      let pattern = (0..<random.int(below: 8)).map { _ in
        random.oneIn(3) ? "%" : random.oneIn(12) ? "_" : random.pick(letters)
      }.joined()
      let expected = Self.reference(
        Self.scalars(text).map(Self.folded)[...], pattern.unicodeScalars.map { Self.folded($0.value) }[...])
      let compiled = try #require(LikePattern(pattern, caseInsensitive: true))
      let isMatch = compiled.matches(text.span.bytes)
      expectEqual(isMatch, expected, "\(text) \(pattern)")
    }
  }

  private static func folded(_ scalar: UInt32) -> UInt32 {
    guard let lower = Unicode.Scalar(scalar)?.properties.lowercaseMapping.unicodeScalars, lower.count == 1
    else { return scalar }
    return lower.first?.value ?? scalar
  }

  private static func scalars(_ bytes: [UInt8]) -> [UInt32] {
    var scalars: [UInt32] = []
    var rest = bytes[...]
    while let first = rest.popFirst() {
      let count = first < 0xC0 || first >= 0xF8 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3
      var scalar = count == 0 ? UInt32(first) : UInt32(first) & (0x3F >> UInt32(count))
      for byte in rest.prefix(count) { scalar = scalar << 6 | UInt32(byte & 0x3F) }
      rest = rest.dropFirst(count)
      scalars.append(scalar)
    }
    return scalars
  }

  private static func reference(_ text: ArraySlice<UInt32>, _ pattern: ArraySlice<UInt32>) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    let rest = pattern.dropFirst()
    if first == 0x25 { return reference(text, rest) || !text.isEmpty && reference(text.dropFirst(), pattern) }
    guard let scalar = text.first else { return false }
    return (first == 0x5F || first == scalar) && reference(text.dropFirst(), rest)
  }

  @Test func `every scalar is folded to its lower case where that is one scalar`() throws {
    for block in stride(from: UInt32(0), to: 0x11_0000, by: 128) {
      let scalars = (block..<block + 128).compactMap { Unicode.Scalar($0) }
      var (text, folded) = (String.UnicodeScalarView(), "")
      for scalar in scalars {
        text.append(scalar)
        if "%_\\".unicodeScalars.contains(scalar) { folded += "\\" }
        folded.unicodeScalars.append(Unicode.Scalar(Self.folded(scalar.value)) ?? scalar)
      }
      let pattern = try #require(LikePattern(folded, caseInsensitive: true))
      expect(pattern.matches(String(text)), "from \(String(block, radix: 16)) on")
    }
  }

  @Test func `lower makes in place what it makes of values`() throws {
    var texts = ["", "ABC", "İstanbul", "xxİ", "ΑΣ", "\u{212A}", "\u{23A}BC", "ǅ ŉ ﬁ", "漢字ABC"]
    for block in stride(from: UInt32(0x80), to: 0x1_0500, by: 128) {
      var text = String.UnicodeScalarView()
      text.append(contentsOf: (block..<block + 128).compactMap { Unicode.Scalar($0) })
      texts.append(String(text))
    }
    let workload = try LiveWorkload()
    _ = try workload.store.write { transaction in
      for (number, text) in texts.enumerated() {
        try transaction.upsert(["_id": .int(Int64(number)), "text": .string(text)], into: "t")
      }
    }
    for (number, text) in texts.enumerated() {
      var matcher = try RecordMatcher(
        DQL.parseExpression("_id = \(number) AND lower(text) = :low"),
        arguments: ["low": .string(text.lowercased())])
      try workload.store.read { transaction in
        let collection = try #require(try transaction.collection("t"))
        matcher.resolve(collection.keys)
        let resolved = matcher
        var found = 0
        try transaction.forEachRecord(in: collection) { id, _, record in
          if resolved.matches(id, record) { found += 1 }
          return true
        }
        expectEqual(found, 1, "\(text)")
      }
    }
  }

  private static func reference(_ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>)
    -> Bool
  {
    guard let first = pattern.first else { return text.isEmpty }
    let rest = pattern.dropFirst()
    if first == "%" { return reference(text, rest) || !text.isEmpty && reference(text.dropFirst(), pattern) }
    guard let scalar = text.first else { return false }
    return (first == "_" || first == scalar) && reference(text.dropFirst(), rest)
  }

  @Test func `NULL and other types follow the rules of functions`() throws {
    let evaluate = { (text: String) in try Evaluator.evaluate(constant: try DQL.parseExpression(text)) }
    #expect(try evaluate("NULL LIKE 'a'") == .null)
    #expect(try evaluate("'a' LIKE NULL") == .null)
    #expect(try evaluate("1 LIKE 'a'") == nil)
    #expect(try evaluate("MISSING NOT LIKE 'a'") == nil)
    #expect(try evaluate("'a' NOT LIKE 'b'") == .bool(true))
    #expect(try evaluate("'500 off' LIKE '50!%%' ESCAPE '!'") == .bool(false))
  }
}
