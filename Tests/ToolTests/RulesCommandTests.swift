import Foundation
import TestKit
import Testing

/// `dunlin rules`: what it says about files with rules, and about a store.
@Suite(.timeLimit(.minutes(15))) struct RulesCommandTests {
  let directory: TemporaryDirectory
  var store: String { directory.file("store") }

  private static let rules = """
    {
      "read": {
        "everything": false,
        "queriesByCollection": {
          "menus": ["true"],
          "orders": ["owner = :user.id", "team IN :claims.teams"]
        }
      },
      "write": {
        "everything": false,
        "queriesByCollection": { "orders": ["owner = :user.id AND status != 'paid'"] }
      }
    }
    """

  init() throws {
    directory = try TemporaryDirectory()
    try write("waiter.json", Self.rules)
    try write("waiter-next.json", Self.rules.replacing("team IN :claims.teams", with: "status = 'paid'"))
    try write(
      "ann.json", #"{ "user": { "id": "ann" }, "claims": { "teams": ["red"] }, "rules": "waiter.json" }"#)
    try write("bob.json", #"{ "user": { "id": "bob" }, "claims": { "teams": ["blue"] } }"#)
  }

  private func write(_ name: String, _ text: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: directory.file(name)))
  }

  private func run(_ arguments: String..., input: String = "") throws -> Tool.Outcome {
    try Tool.run(arguments, in: directory.path, input: input)
  }

  private func file(_ name: String) -> String { directory.file(name) }

  private func fill() throws {
    let orders = [
      #"{"_id":"o1","owner":"ann","team":"blue","status":"open"}"#,
      #"{"_id":"o2","owner":"ann","team":"none","status":"paid"}"#,
      #"{"_id":"o3","owner":"bob","team":"red","status":"open"}"#,
      #"{"_id":"o4","owner":"bob","team":"blue","status":"paid"}"#,
    ]
    #expect(try run("import", store, "orders", "-", input: orders.joined(separator: "\n")).status == 0)
    #expect(try run("import", store, "menus", "-", input: #"{"_id":"lunch"}"#).status == 0)
  }

  private func object(_ outcome: Tool.Outcome) throws -> [String: Any] {
    let value = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
    return try #require(value as? [String: Any], "\(outcome)")
  }

  private static let page: String = {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return (try? String(contentsOf: root.appending(path: "Documentation/Rules.md"), encoding: .utf8)) ?? ""
  }()

  @Test func `rules without mistakes are summed up`() throws {
    let outcome = try run("rules", "check", file("waiter.json"), "--as", file("ann.json"))
    #expect(outcome.status == 0 && outcome.errors.isEmpty)
    let lines = outcome.output.split(separator: "\n")
    #expect(
      lines.prefix(3) == ["read     3 queries", "write    1 query", "takes    user.id, claims.teams"])
    #expect(!outcome.output.contains("warning"))
    // It is the page's first text.
    #expect(Self.page.contains(Self.rules))
    #if TLS
      let hash = try #require(lines.last?.split(separator: " ").last)
      #expect(hash.count == 64 && Self.page.contains(hash), "\(hash)")
    #endif
    let values = try object(run("rules", "check", file("waiter.json"), "--json"))
    #expect(values["isValid"] as? Bool == true && values["claims"] as? [String] == ["teams"])
    #expect((values["read"] as? [String: Any])?["queries"] as? Int == 3)
    #expect((values["warnings"] as? [Any])?.isEmpty == true)
    // Another layout of the same rules has the same hash.
    let packed = Self.rules.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.joined()
    try write("packed.json", packed)
    let other = try object(run("rules", "check", file("packed.json"), "--json"))
    #expect(other["sha256"] as? String == values["sha256"] as? String)
    #expect(other["bytes"] as? Int == values["bytes"] as? Int)
  }

  @Test func `every mistake is named with its place, and the status is 1`() throws {
    try write(
      "bad.json",
      """
      {
        "read": {"everything": false, "queriesByCollection": {
          "orders": ["team = :team",
            "owner = "],
          "__own": ["true"]}},
        "write": {"everything": true, "more": 1}
      }
      """)
    let outcome = try run("rules", "check", file("bad.json"))
    #expect(outcome.status == 1 && outcome.output.isEmpty)
    let lines = outcome.errors.split(separator: "\n")
    let bad = file("bad.json")
    #expect(lines.contains { $0.hasPrefix("\(bad):3: read.queriesByCollection.orders[0]: ") })
    #expect(lines.contains { $0.hasPrefix("\(bad):4: read.queriesByCollection.orders[1]: ") })
    #expect(lines.contains { $0.hasPrefix("\(bad):5: read.queriesByCollection.__own: ") })
    #expect(lines.contains { $0.hasPrefix("\(bad):6: write.more: ") })
    #expect(outcome.errors.contains("team = :team\n       ^"))
    let values = try run("rules", "check", bad, "--json")
    #expect(values.status == 1)
    let errors = try #require(try object(values)["errors"] as? [[String: Any]])
    #expect(errors.compactMap { $0["line"] as? Int } == [3, 4, 5, 6])
    #expect(errors.map { $0["code"] as? String } == ["query", "query", "collectionName", "malformed"])
    for text in ["{", "7", ""] {
      try write("none.json", text)
      let none = try run("rules", "check", file("none.json"))
      expect(none.status == 1 && none.errors.contains("none.json"), "\(none)")
    }
    let missing = try run("rules", "check", file("nothing.json"))
    #expect(missing.status == 1 && missing.errors.contains("nothing.json"))
  }

  @Test func `likely mistakes are warnings`() throws {
    let rules = Self.rules.replacing("\"true\"", with: "\"contains(tags, 'x')\", \"a = 'x' AND a = 'y'\"")
    try write("odd.json", rules)
    try write("cid.json", #"{ "user": { "id": "cid" } }"#)
    let outcome = try run("rules", "check", file("odd.json"), "--as", file("cid.json"))
    #expect(outcome.status == 0)
    let warnings = outcome.output.split(separator: "\n").filter { $0.hasPrefix("warning") }
    #expect(warnings.count == 3)
    #expect(warnings.contains { $0.contains("menus[0]: contains looks for a text") })
    #expect(warnings.contains { $0.contains("menus[1]: it is never true") })
    #expect(
      warnings.contains { $0.contains("orders[1]: for cid it allows nothing: no value for :claims.teams") })
  }

  @Test func `a user's access to a store is counted and explained, as on the page`() throws {
    try fill()
    let outcome = try run("rules", "try", store, "--as", file("ann.json"))
    #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
    #expect(Self.page.contains("```text\n" + outcome.output + "```"), "\(outcome.output)")
    let values = try object(
      run("rules", "try", store, "--as", file("bob.json"), "--rules", file("waiter.json"), "--json"))
    #expect(values["user"] as? String == "bob")
    let collections = try #require(values["collections"] as? [[String: Any]])
    let orders = try #require(collections.first { $0["collection"] as? String == "orders" })
    #expect(orders["documents"] as? Int == 4 && orders["readable"] as? Int == 3)
    #expect(orders["writable"] as? Int == 1)
    let unreadable = try #require(orders["unreadable"] as? [[String: Any]])
    #expect(unreadable.map { $0["_id"] as? String } == ["o2"])
    #expect(unreadable.first?["reasons"] as? [String] == ["owner = 'bob'", "team IN ['blue']"])
  }

  @Test func `a claim that is missing is told, and the first ten documents are named`() throws {
    let lines = (10..<40).map { #"{"_id":"d\#($0)","team":"red"}"# }
    #expect(try run("import", store, "orders", "-", input: lines.joined(separator: "\n")).status == 0)
    try write("cid.json", #"{ "user": { "id": "cid" }, "rules": "waiter.json" }"#)
    let outcome = try run("rules", "try", store, "--as", file("cid.json"))
    #expect(outcome.status == 0)
    #expect(outcome.errors.contains("warning: read.queriesByCollection.orders[1]: it allows nothing"))
    #expect(outcome.output.contains("cannot read 30 documents of orders:"))
    #expect(outcome.output.contains(#"  "d10"  [0] owner = 'cid'; [1] no value for :claims.teams"#))
    #expect(outcome.output.contains("  \"d19\"") && !outcome.output.contains("\"d20\""))
    #expect(outcome.output.contains("  and 20 more"))
    let progress = try run("rules", "try", store, "--as", file("cid.json"), "--no-progress")
    #expect(progress.output == outcome.output)
  }

  @Test func `rules are compared for several users, as on the page`() throws {
    try fill()
    let (old, new) = (file("waiter.json"), file("waiter-next.json"))
    let outcome = try run(
      "rules", "diff", old, new, store, "--as", file("ann.json"), "--as", file("bob.json"))
    #expect(outcome.status == 0, "\(outcome)")
    #expect(Self.page.contains("```text\n" + outcome.output + "```"), "\(outcome.output)")
    let values = try object(run("rules", "diff", old, new, store, "--as", file("ann.json"), "--json"))
    let users = try #require(values["users"] as? [[String: Any]])
    let collections = try #require(users.first?["collections"] as? [[String: Any]])
    #expect(users.count == 1 && collections.count == 1)
    #expect((collections[0]["readGained"] as? [String: Any])?["ids"] as? [String] == ["o4"])
    #expect((collections[0]["readLost"] as? [String: Any])?["documents"] as? Int == 1)
    let same = try run("rules", "diff", old, old, store, "--as", file("ann.json"))
    #expect(same.output == "Nobody gains or loses anything\n")
  }

  @Test func `what cannot be tried is refused with its reason`() throws {
    try fill()
    let noRules = try run("rules", "try", store, "--as", file("bob.json"))
    #expect(noRules.status == 1 && noRules.errors.contains("it names no rules"))
    let noStore = try run("rules", "try", file("no-store"), "--as", file("ann.json"))
    #expect(noStore.status == 1 && noStore.errors.contains("there is no store"))
    #expect(!FileManager.default.fileExists(atPath: file("no-store")))
    let nobody = try run("rules", "diff", file("waiter.json"), file("waiter.json"), store)
    #expect(nobody.status == 64 && nobody.errors.contains("--as"))
    for (text, place) in [
      (#"{"user":"ann"}"#, "user"), (#"{"user":{}}"#, "user.id"), (#"{"claims":{"a":{}}}"#, "claims.a"),
      (#"{"name":"ann"}"#, "name"), (#"{"rules":7}"#, "rules"), ("{", "1"),
    ] {
      try write("odd-user.json", text)
      let outcome = try run(
        "rules", "try", store, "--as", file("odd-user.json"), "--rules", file("waiter.json"))
      expect(outcome.status == 1 && outcome.errors.contains("odd-user.json:1: "), "\(text): \(outcome)")
      expect(outcome.errors.contains(place), "\(text): \(outcome)")
    }
  }
}
