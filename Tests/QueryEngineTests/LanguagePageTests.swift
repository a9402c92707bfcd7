import CRDTCore
import DocStore
import Foundation
import QueryEngine
import TestKit
import Testing

/// Holds the pages on the query languages to what the engine does.
@Suite struct LanguagePageTests {
  private static let pages = ["QueryLanguage", "Functions"]
  /// At noon of the first of March 2026.
  private static let environment = EngineEnvironment(now: { 0 }, wallClock: { 1_772_366_400_000 })

  private func withEngine(_ body: (Engine) throws -> Void) throws {
    try TemporaryDirectory.with { directory in
      let peer = try CasePeer(directory.file("store"), environment: Self.environment)
      defer { peer.store.close() }
      for collection in ["cars", "customers", "orders"] { try peer.load(collection) }
      try body(peer.engine)
    }
  }

  @Test(arguments: pages) func `every statement answers what the page says`(page: String) throws {
    let examples = try LanguagePage(page).statements()
    #expect(examples.count > 10)
    try withEngine { engine in
      for example in examples {
        do {
          let rows = try engine.execute(example.text).rows.map { Value.map(try $0.values()) }
          expect(example.failure == nil, "\(example.text)")
          expectRows(rows, example.rows, ordered: false, example.text)
        } catch let error as QueryError {
          expect(error.message.contains(example.failure ?? "no error"), "\(example.text): \(error)")
        }
      }
    }
  }

  @Test(arguments: pages) func `every expression has the value that the page says`(page: String) throws {
    let expectations = try LanguagePage(page).expectations()
    #expect(page != "Functions" || expectations.count > 150)
    try withEngine { engine in
      for one in expectations {
        do {
          let values = try engine.execute("SELECT \(one.expression) AS r FROM system:dual").rows[0].values()
          expect(one.failure == nil, "\(one.expression)")
          let isSame = SortOrder.compare(values["r"], one.value) == 0
          expect(isSame, "\(one.expression) is \(values["r"].map { JSON.text(of: $0) } ?? "MISSING")")
        } catch let error as QueryError {
          expect(error.message.contains(one.failure ?? "no error"), "\(one.expression): \(error)")
        }
      }
    }
  }

  @Test func `every predicate of the builder language finds what the page says`() throws {
    let examples = try LanguagePage("QueryLanguage").predicates()
    #expect(examples.count > 10)
    try withEngine { engine in
      for example in examples {
        do {
          let found = try engine.find(
            collection: "cars", predicate: Builder.parse(example.text), arguments: ["year": .int(2003)])
          expect(example.failure == nil, "\(example.text)")
          let ids = try found.map { try $0.values()["_id"] ?? .null }
          expectRows(ids, example.rows, ordered: false, example.text)
        } catch let error as QueryError {
          expect(error.message.contains(example.failure ?? "no error"), "\(example.text): \(error)")
        }
      }
    }
  }

  @Test func `every function and aggregate has an example, under each of its names`() throws {
    let page = try LanguagePage("Functions")
    let examples = try page.expectations().map(\.expression) + page.statements().map(\.text)
    let text = examples.joined(separator: "\n").lowercased()
    for name in Function.allCases.flatMap(\.names) + Aggregate.allCases.map(\.rawValue) {
      let isCalled = text.contains(name + "(") || name == "exists" && text.contains("exists [")
      expect(isCalled, "'\(name)' has no example in Functions.md")
    }
  }

  @Test func `the page describes every function, and no other`() throws {
    let described = try LanguagePage("Functions").signatures().map { $0.prefix { $0 != "(" }.lowercased() }
    let functions = Function.allCases.filter { $0 != .exists }.flatMap(\.names)
    #expect(Set(described) == Set(functions + Aggregate.allCases.map(\.rawValue)))
  }

  @Test func `a signature on the page has as many arguments as the function takes`() throws {
    var arities: [String: ClosedRange<Int>] = [:]
    for signature in try LanguagePage("Functions").signatures() {
      guard let (name, arity) = LanguagePage.arity(of: signature) else { continue }
      let known = arities[name] ?? arity
      arities[name] = min(known.lowerBound, arity.lowerBound)...max(known.upperBound, arity.upperBound)
    }
    #expect(arities.count > 60)
    for (name, arity) in arities {
      guard let function = Function(name: name) else { continue }
      expectEqual(arity, function.arity, "\(name)")
    }
  }

  @Test func `every keyword of the grammar stands in an example`() throws {
    let page = try LanguagePage("QueryLanguage")
    let keywords = LanguagePage.keywords(in: page.fenced("").joined(separator: "\n"))
    #expect(keywords.count > 90)
    let shown = LanguagePage.keywords(in: try page.statements().map { $0.text.uppercased() }.joined())
    #expect(keywords.subtracting(shown).isEmpty)
  }

  @Test func `the grammar has every word that begins something`() throws {
    let page = try LanguagePage("QueryLanguage")
    let keywords = LanguagePage.keywords(in: page.fenced("").joined(separator: "\n"))
    // They are refused by name, or begin the arguments of a function.
    let others: Set<String> = ["CROSS", "FULL", "CAST"]
    #expect(Self.reservedWords(page).subtracting(keywords).subtracting(others).isEmpty)
  }

  private static func reservedWords(_ page: LanguagePage) -> Set<String> {
    let start = page.text.range(of: "Only these words are reserved")?.upperBound ?? page.text.endIndex
    let end = page.text[start...].range(of: "```")?.lowerBound ?? start
    return LanguagePage.keywords(in: page.text[start..<end])
  }

  @Test func `the page's reserved words are names in backticks alone, and no other word of the grammar is`()
    throws
  {
    let page = try LanguagePage("QueryLanguage")
    let reserved = Self.reservedWords(page)
    #expect(reserved.count > 60)
    for word in reserved {
      #expect(throws: QueryError.self, "\(word)") { try DQL.parse("SELECT a FROM \(word)") }
      _ = try DQL.parse("SELECT a FROM `\(word)`")
    }
    for word in LanguagePage.keywords(in: page.fenced("").joined(separator: "\n")).subtracting(reserved) {
      #expect(throws: Never.self, "\(word)") { try DQL.parse("SELECT a FROM \(word)") }
    }
  }

  @Test func `every system parameter and virtual collection is on the page`() throws {
    let page = try LanguagePage("QueryLanguage")
    let first = page.tableRows.map(\.[0])
    try withEngine { engine in
      for (name, value) in try engine.execute("SHOW ALL").rows[0].values() {
        let row = page.tableRows.first { $0[0].contains("`\(name)`") }
        let cells = try #require(row, "the parameter \(name) is not on the page")
        expect(cells[1].contains(JSON.text(of: value)), "\(name) is \(JSON.text(of: value)) by default")
      }
    }
    for collection in SystemCollection.allCases {
      expect(first.contains { $0.contains("`system:\(collection.rawValue)`") }, "\(collection)")
    }
  }
}
