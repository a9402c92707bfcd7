import CRDTCore
import QueryLanguage
import ScopePolicy
import TestKit
import Testing

/// The text of access rules: what it may have, and its canonical form.
@Suite struct AccessRulesTests {
  private func rules(_ text: String) throws -> AccessRules { try AccessRules(json: Array(text.utf8)) }

  private static let allowed = #""write":{"everything":false}"#

  private func mistake(_ read: String) throws -> RulesError {
    try #require(throws: RulesError.self) { try rules("{\"read\":\(read),\n\(Self.allowed)}") }
  }

  @Test func `the canonical form is sorted, and has no spaces`() throws {
    let text = """
      { "write": { "everything" : true },
        "read": { "queriesByCollection": { "orders": [" b = 2 ", "a = 1", "b = 2"], "menus": ["true"], "empty": [] },
                  "everything": false } }
      """
    let canonical =
      #"{"read":{"everything":false,"queriesByCollection":{"menus":["true"],"orders":["a = 1","b = 2"]}},"#
      + #""write":{"everything":true,"queriesByCollection":{}}}"#
    let read = try rules(text)
    #expect(String(decoding: read.canonical, as: UTF8.self) == canonical)
    #expect(read.read.queries["orders"]?.map(\.text) == ["b = 2", "a = 1", "b = 2"])
    #expect(try AccessRules(canonical: Array(canonical.utf8)) == read)
    #expect(AccessRules.mistakes(in: Array(text.utf8)).isEmpty)
    let error = #expect(throws: RulesError.self) { try AccessRules(canonical: Array(text.utf8)) }
    #expect(error?.code == .notCanonical)
  }

  /// Rules in any order, with any spaces, from a seed.
  private func text(_ random: inout SeededGenerator, _ queries: [String: [[String]]]) -> String {
    func space() -> String { ["", " ", "\n", "\t "][random.int(below: 4)] }
    func list(_ parts: [String], _ open: String, _ close: String) -> String {
      open + space() + parts.shuffled(using: &random).joined(separator: space() + "," + space()) + space()
        + close
    }
    let sides = queries.map { side, collections in
      let members = collections.enumerated().map { index, texts in
        let all = texts + (random.oneIn(3) ? texts.prefix(1) : [])
        let quoted = all.map { JSON.text(of: .string(space() + $0 + space())) }
        return "\"c\(index)\":\(list(quoted, "[", "]"))"
      }
      let map = "\"queriesByCollection\":\(list(members, "{", "}"))"
      return "\"\(side)\":\(list(["\"everything\":false", map], "{", "}"))"
    }
    return list(sides, "{", "}")
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `equal rules have equal bytes, and are read back from them`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let known = [
      "owner = :user.id", "team IN :claims.teams", "a == 'é' && b != \"x\"", "true", "n < 3 OR n > 7",
      "array_contains(members, :user.id)", "SELECT * FROM c0", "name LIKE '%\\u0041%'",
    ]
    var queries: [String: [[String]]] = [:]
    for side in ["read", "write"] {
      queries[side] = (0..<random.int(below: 4)).map { collection in
        known.filter { !$0.hasPrefix("SELECT") || collection == 0 }.filter { _ in random.oneIn(2) }
      }
    }
    let first = try rules(text(&random, queries))
    for _ in 0..<4 { expectEqual(try rules(text(&random, queries)), first) }
    let again = try AccessRules(canonical: first.canonical)
    #expect(again.canonical == first.canonical)
    #expect(again.claims == first.claims && again.takesUser == first.takesUser)
    // Without one of the queries they are other rules.
    guard let texts = queries["read"]?.first, !texts.isEmpty else { return }
    queries["read"]?[0].removeFirst()
    #expect(try rules(text(&random, queries)) != first)
  }

  @Test(
    arguments: [
      (#"5"#, .malformed, "read"), (#"{}"#, .malformed, "read.everything"), ("null", .malformed, "read"),
      (#"{"everything":1}"#, .malformed, "read.everything"),
      (#"{"everything":false,"queriesByCollection":[]}"#, .malformed, "read.queriesByCollection"),
      (#"{"everything":false,"all":true}"#, .malformed, "read.all"),
      (
        #"{"everything":true,"queriesByCollection":{"orders":["true"]}}"#, .malformed,
        "read.queriesByCollection"
      ),
      (
        #"{"everything":false,"queriesByCollection":{"orders":"true"}}"#, .malformed,
        "read.queriesByCollection.orders"
      ),
      (
        #"{"everything":false,"queriesByCollection":{"orders":["true",7]}}"#, .malformed,
        "read.queriesByCollection.orders[1]"
      ),
      (
        #"{"everything":false,"queriesByCollection":{"orders":["true","a =="]}}"#, .query,
        "read.queriesByCollection.orders[1]"
      ),
      (
        #"{"everything":false,"queriesByCollection":{"__own":["true"]}}"#, .collectionName,
        "read.queriesByCollection.__own"
      ),
      (
        #"{"everything":false,"queriesByCollection":{"system:data":["true"]}}"#, .collectionName,
        "read.queriesByCollection.system:data"
      ),
      (
        #"{"everything":false,"queriesByCollection":{"":["true"]}}"#, .collectionName,
        "read.queriesByCollection."
      ),
    ] as [(String, RulesError.Code, String)])
  func `a mistake is named by its place`(read: String, code: RulesError.Code, path: String) throws {
    let error = try mistake(read)
    #expect(error.code == code && error.path == path, "\(error)")
    #expect(error.message.hasPrefix(path + ": "))
    #expect(error.line == 1 && error.context["path"] == path)
    if path.contains("orders") && code != .malformed { #expect(error.collection == "orders") }
  }

  @Test func `a query's mistake has its place in the query too`() throws {
    let error = try mistake(#"{"everything":false,"queriesByCollection":{"orders":["team =\n"]}}"#)
    #expect(error.query?.code == .syntax)
    #expect(error.message.contains("(at line 1, column 7 of the query)"), "\(error)")
    #expect(error.context["collection"] == "orders" && error.context["excerpt"] == error.excerpt)
    #expect(error.excerpt?.contains("^") == true)
  }

  @Test func `all mistakes are found, in the order of the text`() throws {
    let text = """
      {
        "read": {"everything": 1, "queriesByCollection": {
          "b": ["a ="],
          "a": [3]}},
        "other": 1,
        "write": {}
      }
      """
    let mistakes = AccessRules.mistakes(in: Array(text.utf8))
    #expect(
      mistakes.map(\.path) == [
        "read.everything", "read.queriesByCollection.b[0]", "read.queriesByCollection.a[0]", "other",
        "write.everything",
      ])
    #expect(mistakes.map(\.line) == [2, 3, 4, 5, 6])
    let queries = AccessRules.mistakes(
      in: Array(text.replacing("\"everything\": 1", with: "\"everything\": true").utf8))
    #expect(
      queries.map(\.path) == [
        "read.queriesByCollection", "read.queriesByCollection.b[0]", "read.queriesByCollection.a[0]", "other",
        "write.everything",
      ])
    #expect(throws: queries[0]) {
      try rules(text.replacing("\"everything\": 1", with: "\"everything\": true"))
    }
  }

  @Test(arguments: [("", 1), ("[]", nil), ("{\"a\":1,\n\"b\" 2}", 2), ("{\"read\":", 1)] as [(String, Int?)])
  func `what is no JSON object is refused`(text: String, line: Int?) throws {
    let error = try #require(throws: RulesError.self) { try rules(text) }
    #expect(error.code == (line == nil ? .malformed : .json))
    if let line { #expect(error.line == line) }
    #expect(AccessRules.mistakes(in: Array(text.utf8)) == [error] || line == nil)
  }

  @Test func `the limits hold at their values`() throws {
    func rules(queries: [String], padding: Int = 0) throws -> AccessRules {
      let list = queries.map { "\"\($0)\"" }.joined(separator: ",")
      let text = #"{"read":{"everything":false,"queriesByCollection":{"c":[\#(list)]}},"# + Self.allowed + "}"
      return try self.rules(text + String(repeating: " ", count: padding))
    }
    func code(_ make: () throws -> AccessRules) throws -> RulesError.Code {
      try #require(throws: RulesError.self) { _ = try make() }.code
    }
    let many = (0..<AccessRules.queryLimit).map { "a = \($0)" }
    #expect(try rules(queries: many).read.queryCount == AccessRules.queryLimit)
    #expect(try code { try rules(queries: many + ["true"]) } == .limit)

    let empty = try rules(queries: ["a = ''"]).canonical.count
    let fits = "a = '\(String(repeating: "x", count: AccessRules.byteLimit - empty))'"
    let largest = try rules(queries: [fits])
    #expect(largest.canonical.count == AccessRules.byteLimit)
    #expect(try AccessRules(canonical: largest.canonical) == largest)
    #expect(try code { try rules(queries: [fits, "b"]) } == .limit)
    #expect(try code { try AccessRules(canonical: largest.canonical + [32]) } == .limit)

    let spaces = AccessRules.sourceBytes - largest.canonical.count
    #expect(try rules(queries: [fits], padding: spaces - 1_000) == largest)
    #expect(try code { try rules(queries: [fits], padding: spaces + 1_000) } == .limit)
    #expect(try code { try rules(queries: [String(repeating: "(", count: 9_000)]) } == .limit)
  }

  @Test func `the claims that rules take are named`() throws {
    let rules = try rules(
      #"{"read":{"everything":false,"queriesByCollection":{"a":["x = :claims.b","y == $args.claims.a"]}},"#
        + #""write":{"everything":false,"queriesByCollection":{"a":["x IN :claims.b"]}}}"#)
    #expect(rules.claims == ["a", "b"] && !rules.takesUser)
    #expect(AccessRules.everything.claims.isEmpty)
    #expect(String(decoding: AccessRules.nothing.canonical, as: UTF8.self).contains("\"everything\":false"))
    for known in [AccessRules.everything, .nothing] {
      expectEqual(try AccessRules(canonical: known.canonical), known)
    }
  }

  @Test func `a webhook's permissions are rules`() throws {
    let value = try JSON.parse(
      #"{"read":{"everything":true,"queriesByCollection":{}},"write":{"everything":false,"queriesByCollection":{"o":["_id.user == 'ann'"]}}}"#
    )
    let rules = try AccessRules(value)
    #expect(rules.read.isEverything && rules.write.queryCount == 1)
    let error = #expect(throws: RulesError.self) { try AccessRules(.map(["read": .map([:])])) }
    #expect(error?.line == nil && error?.path == "read.everything")
  }

  @Test func `likely mistakes are warned of`() throws {
    let rules = try rules(
      #"""
      {"read":{"everything":false,"queriesByCollection":{
         "a":["team = 'x' AND team = 'y'", "contains(members, :user.id)", "team = :claims.team", "team IN :claims.team"]}},
       "write":{"everything":false,"queriesByCollection":{"b":["owner = :user.id"]}}}
      """#)
    let place = "read.queriesByCollection.a"
    #expect(rules.warnings.map(\.path) == ["\(place)[0]", "\(place)[1]", "write.queriesByCollection.b"])
    let none = rules.warnings(claims: .none, user: nil)
    #expect(
      none.map(\.path) == ["\(place)[1]", "\(place)[2]", "\(place)[3]", "write.queriesByCollection.b[0]"])
    #expect(none[1].message.contains(":claims.team"))
    let text = try rules.warnings(claims: Claims(["team": .string("x")]), user: "ann")
    #expect(text.map(\.path) == ["\(place)[3]"])
    #expect(text[0].message.contains("never true with these claims"))
    #expect(try rules.warnings(claims: Claims(["team": .array([.string("x")])]), user: "ann").isEmpty)
  }
}
