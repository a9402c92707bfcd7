import CRDTCore
import DocStore
import QueryLanguage
import ScopePolicy
import TestKit
import Testing

/// Rules for one user, asked about documents.
@Suite struct CompiledRulesTests {
  private func compiled(
    read: String, write: String = #"{"everything":false}"#, _ claims: [TextKey: Value] = [:],
    user: String? = "ann"
  ) throws -> CompiledRules {
    let rules = try AccessRules(json: Array("{\"read\":\(read),\"write\":\(write)}".utf8))
    return CompiledRules(rules, claims: try Claims(claims), user: user)
  }

  private func queries(_ members: String) -> String {
    #"{"everything":false,"queriesByCollection":{\#(members)}}"#
  }

  private let id: DocumentID

  init() throws { id = try DocumentID(.string("d")) }

  @Test func `everything is all but the system's collections`() throws {
    for rules in [CompiledRules.everything, try compiled(read: #"{"everything":true}"#)] {
      expect(rules.mayReadAny("orders") && rules.mayRead("orders", id, [:]))
      for name in ["__own", "system:data", "", "__"] {
        expect(!rules.mayReadAny(name) && !rules.mayRead(name, id, [:]), "\(name)")
      }
    }
    #expect(CompiledRules.everything.mayWriteAny("orders"))
    let reader = try compiled(read: #"{"everything":true}"#)
    #expect(!reader.mayWriteAny("orders") && !reader.mayWrite("orders", id, [:]))
    #expect(reader.read.rule(for: "orders").isEverything)
  }

  @Test func `what is not named is denied, and one query of several is enough`() throws {
    let rules = try compiled(
      read: queries(#""orders":["owner = :user.id","team = :claims.team"],"menus":["true"]"#),
      write: queries(#""orders":["owner == $args.user.id"]"#), ["team": .string("red")])
    let own: [TextKey: Value] = ["owner": .string("ann"), "team": .string("blue")]
    let others: [TextKey: Value] = ["owner": .string("bob"), "team": .string("red")]
    #expect(rules.mayRead("orders", id, own) && rules.mayRead("orders", id, others))
    #expect(rules.mayWrite("orders", id, own) && !rules.mayWrite("orders", id, others))
    #expect(!rules.mayRead("orders", id, ["owner": .string("bob")]) && !rules.mayRead("orders", id, [:]))
    #expect(rules.mayRead("menus", id, [:]) && !rules.mayWriteAny("menus"))
    #expect(!rules.mayReadAny("bills") && !rules.mayRead("bills", id, own))
    // The name of a collection is its bytes.
    #expect(!rules.mayReadAny("Orders"))
  }

  @Test func `a claim that is missing denies its query, and no other one`() throws {
    let read = queries(#""orders":["team = :claims.team OR TRUE","owner = :user.id"]"#)
    let rules = try compiled(read: read)
    #expect(rules.mayRead("orders", id, ["owner": .string("ann")]))
    #expect(!rules.mayRead("orders", id, ["owner": .string("bob")]))
    let part = try #require(rules.read.rule(for: "orders").parts.first)
    #expect(part.missing == ["claims.team"] && part.refusal == "no value for :claims.team")
    let nobody = try compiled(read: read, user: nil)
    #expect(!nobody.mayReadAny("orders") && !nobody.mayRead("orders", id, ["owner": .string("ann")]))
    #expect(nobody.read.rule(for: "orders").isNothing)
  }

  @Test func `a query that fails with the claims denies`() throws {
    let rules = try compiled(
      read: queries(
        #""a":["NOT regexp_like(name, :claims.p)"],"b":["n IN :claims.p"],"c":["n != :claims.p"]"#),
      ["p": .string("(")])
    for fields: [TextKey: Value] in [[:], ["name": .string("x"), "n": .int(1)]] {
      for name in ["a", "b", "c"] { expect(!rules.mayRead(name, id, fields), "\(name)") }
    }
    #expect(!rules.mayReadAny("b"))
  }

  @Test func `claims that are lists are members or elements`() throws {
    let rules = try compiled(
      read: queries(
        #""a":["team IN :claims.teams"],"b":["array_contains(members, :user.id)"],"c":["'boss' IN :claims.roles"]"#
      ), ["teams": .array([.string("red"), .int(7)]), "roles": .array([.string("boss")])])
    #expect(rules.mayRead("a", id, ["team": .string("red")]) && rules.mayRead("a", id, ["team": .int(7)]))
    #expect(!rules.mayRead("a", id, ["team": .string("blue")]) && !rules.mayRead("a", id, [:]))
    #expect(rules.mayRead("b", id, ["members": .array([.string("bob"), .string("ann")])]))
    #expect(!rules.mayRead("b", id, ["members": .string("ann")]))
    #expect(rules.mayRead("c", id, [:]) && rules.read.rule(for: "c").isEverything)
  }

  /// Any condition on the fields of ``documents(_:)``.
  private func condition(_ random: inout SeededGenerator) -> String {
    let simple = [
      "team = :claims.team", "team IN :claims.teams", "owner = :user.id", "array_contains(tags, :user.id)",
      "n < 4", "n >= 2 AND n != 3", "team IS MISSING", "NOT team = 'red'", "starts_with(owner, 'a')",
      "owner LIKE '%b%'", "place.deep = n", "_id = 'd3'", "_id IN ['d1', 'd5']", "team = :claims.none",
      "ANY x IN tags SATISFIES x = 'ann' END", "lower(team) = 'red'", "n",
    ]
    let builder = [
      "owner == $args.user.id && n > 1", "!(team == 'red')", "team == null || n == 2",
      "contains($args.claims.teams, team) && true",
    ]
    if random.oneIn(4) { return random.pick(builder) }
    let first = random.pick(simple)
    return random.oneIn(2) ? first : "(\(first)) \(random.pick(["AND", "OR"])) (\(random.pick(simple)))"
  }

  private func documents(_ random: inout SeededGenerator) -> [[TextKey: Value]] {
    let names = ["ann", "bob", "cab", "red", "blue"].map { Value.string($0) }
    return (0..<24).map { _ in
      var fields: [TextKey: Value] = [:]
      if !random.oneIn(4) { fields["team"] = random.oneIn(6) ? .null : random.pick(names) }
      if !random.oneIn(4) { fields["owner"] = random.pick(names) }
      if !random.oneIn(4) { fields["n"] = random.oneIn(4) ? .double(2.5) : .int(Int64(random.int(below: 6))) }
      if random.oneIn(2) {
        fields["tags"] = .array((0..<random.int(below: 3)).map { _ in random.pick(names) })
      }
      if random.oneIn(2) { fields["place"] = .map(["deep": .int(Int64(random.int(below: 6)))]) }
      return fields
    }
  }

  @Test(arguments: 0..<30 as Range<UInt64>)
  func `records are judged as their values are`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let texts = (0..<1 + random.int(below: 8)).map { _ in JSON.text(of: .string(condition(&random))) }
    let list = "\"things\":[\(texts.joined(separator: ","))]"
    let rules = try compiled(
      read: queries(list), write: random.oneIn(4) ? #"{"everything":true}"# : queries(list),
      ["team": .string("red"), "teams": .array([.string("blue"), .string("ann")])],
      user: random.oneIn(5) ? nil : "ann")
    let folder = try TemporaryDirectory()
    let store = try Store.open(at: folder.file("store"))
    defer { store.close() }
    let documents = documents(&random)
    try store.write { tx in
      for (index, fields) in documents.enumerated() {
        try tx.upsert(fields, id: DocumentID(.string("d\(index)")), into: "things")
      }
    }
    try store.read { tx in
      let collection = try #require(try tx.collection("things"))
      let rule = rules.read.rule(for: collection)
      try tx.forEachRecord(in: collection) { bytes, _, record in
        let id = try DocumentID(validating: bytes)
        let fields = try record.fields(collection.keys)
        let slow = rules.mayRead("things", id, fields)
        expectEqual(rules.mayRead(collection, bytes, record), slow, "\(texts) \(fields)")
        expectEqual(
          rules.mayWrite(collection, bytes, record), rules.mayWrite("things", id, fields), "\(texts)")
        let refusals = rule.refusals(of: id, record, collection.keys)
        expectEqual(refusals.count, rule.parts.count)
        // A reason is given for each query exactly where none accepts the document.
        if !slow { expect(refusals.allSatisfy { !$0.isEmpty }, "\(texts) \(fields)") }
        if slow { expect(rules.mayReadAny("things")) }
        return true
      }
    }
  }

  @Test func `a rule on ids alone needs no document`() throws {
    let rules = try compiled(
      read: queries(
        #""a":["_id.user = :user.id","_id IN ['x', 'd']"],"b":["true","n = 1"],"c":["n = 1","_id = 'd'"],"#
          + #""e":["_id = :claims.none"],"f":["starts_with(_id, 'd')"]"#))
    func rule(_ name: String) -> CollectionRule { rules.read.rule(for: name) }
    func allows(_ name: String, _ id: DocumentID) -> Bool { rule(name).allows(id: id.bytes.span.bytes) }
    let other = try DocumentID(.string("o"))
    let own = try DocumentID(.map(["user": .string("ann"), "n": .int(1)]))
    for name in ["a", "b", "f"] {
      expect(rule(name).dependsOnIDAlone, "\(name)")
      for id in [id, own, other] {
        let isAllowed = allows(name, id)
        expectEqual(isAllowed, rule(name).allows(id, [:]), "\(name) \(id)")
        expectEqual(isAllowed, rule(name).allows(id, ["n": .int(1), "user": .string("x")]), "\(name) \(id)")
      }
    }
    #expect(allows("a", id) && allows("a", own))
    #expect(!allows("a", other) && !allows("f", other))
    #expect(!rule("c").dependsOnIDAlone && !allows("c", id))
    #expect(rule("e").isNothing && !allows("e", id))
    #expect(!allows("none", id))
    #expect(rules.read.collections == ["a", "b", "c", "f"] && !rules.read.isEverything)
    let everything = CompiledRules.everything.read.rule(for: "a")
    let isAllowed = everything.allows(id: id.bytes.span.bytes)
    #expect(isAllowed)
  }

  @Test func `the same predicates have the same fingerprint`() throws {
    func fingerprint(_ list: String, team: String = "red") throws -> UInt64 {
      try compiled(read: queries("\"a\":[\(list)]"), ["team": .string(team)]).read.rule(for: "a").fingerprint
    }
    let one = try fingerprint(#""team = :claims.team","n = 1""#)
    #expect(try one == fingerprint(#""1 = n","SELECT * FROM a WHERE team = 'red'","n = 1""#))
    #expect(try one != fingerprint(#""team = :claims.team","n = 1""#, team: "blue"))
    #expect(try one != fingerprint(#""n = 1""#) && one != 0)
    // It is the same after a restart, and in later versions.
    #expect(one == 1_963_362_707_861_440_965)
    let everything = try fingerprint(#""true","n = 1""#)
    #expect(everything == CompiledRules.everything.read.rule(for: "b").fingerprint && everything != 0)
    #expect(try fingerprint(#""n = NULL""#) == 0)
  }

  @Test func `a field that becomes known later is looked up`() throws {
    let rules = try compiled(read: queries(#""things":["late = 1"]"#))
    let folder = try TemporaryDirectory()
    let store = try Store.open(at: folder.file("store"))
    defer { store.close() }
    func readable() throws -> Int {
      try store.read { tx in
        let collection = try #require(try tx.collection("things"))
        var count = 0
        try tx.forEachRecord(in: collection) { id, _, record in
          if rules.mayRead(collection, id, record) { count += 1 }
          return true
        }
        return count
      }
    }
    try store.write { try $0.upsert(["a": .int(1)], id: DocumentID(.int(1)), into: "things") }
    #expect(try readable() == 0)
    try store.write { try $0.upsert(["late": .int(1)], id: DocumentID(.int(2)), into: "things") }
    #expect(try readable() == 1)
  }
}
