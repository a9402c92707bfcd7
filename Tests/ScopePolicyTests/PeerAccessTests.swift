import CRDTCore
import ScopePolicy
import SyncProtocol
import TestKit
import Testing

/// What a grant lets a peer do, in the form that sessions ask.
@Suite struct PeerAccessTests {
  private static let all = #"{"everything":true}"#

  private static func queries(_ members: String) -> String {
    #"{"everything":false,"queriesByCollection":{\#(members)}}"#
  }

  private func access(
    _ read: String, write: String = all, claims: [TextKey: Value] = [:], user: String? = "ann",
    remoteQueries: Bool = false, presence: Grant.Presence = .neighbours
  ) throws -> PeerAccess {
    let rules = try AccessRules(json: Array("{\"read\":\(read),\"write\":\(write)}".utf8))
    let grant = try Grant(
      rules: Grant.RulesReference(name: "waiter", sha256: String(repeating: "0", count: 64)),
      claims: Claims(claims), remoteQueries: remoteQueries, presence: presence)
    return try PeerAccess(grant: grant.canonical, rules: rules.canonical, user: user)
  }

  private func mayRead(_ access: PeerAccess, _ collection: String, _ id: Value) throws -> Bool {
    let id = try DocumentID(id)
    return access.mayRead(collection, id.bytes.span.bytes)
  }

  @Test func `rules that allow everything restrict nothing`() throws {
    let access = try access(Self.all)
    #expect(access.reading == .everything && access.fingerprint == 0)
    #expect(try access.mayRead("orders") && mayRead(access, "orders", .string("a")))
    #expect(access.partialRule(of: "orders") == nil)
  }

  @Test func `what is not named is denied, and so is what no query allows`() throws {
    let access = try access(
      Self.queries(
        #""menus":["true"],"orders":["starts_with(_id, :user.id)","_id = 'shared'"],"#
          + #""a":["n = NULL"],"b":["owner = :claims.none"],"c":[]"#))
    #expect(access.partialRule(of: "menus") == nil && access.partialRule(of: "orders") != nil)
    for (collection, id, isAllowed) in [
      ("menus", "x", true), ("orders", "ann-1", true), ("orders", "shared", true), ("orders", "bob-1", false),
      ("Orders", "ann-1", false), ("a", "x", false), ("b", "x", false),
      ("c", "x", false), ("other", "x", false), ("__own", "x", false), ("system:data", "x", false),
    ] {
      try expectEqual(mayRead(access, collection, .string(id)), isAllowed, "\(collection) \(id)")
    }
    for name in ["menus", "orders"] { expect(access.mayRead(name), "\(name)") }
    for name in ["a", "b", "c", "other", "__own"] { expect(!access.mayRead(name), "\(name)") }
    let nothing = try self.access(#"{"everything":false}"#)
    #expect(nothing.reading == .collections([:]) && nothing.fingerprint != 0)
    #expect(!nothing.mayRead("orders") && nothing.reading == PeerAccess.nothing.reading)
  }

  @Test func `ids of all kinds are judged`() throws {
    let access = try access(
      Self.queries(
        #""text":["_id LIKE 'a%'"],"number":["_id > 10"],"flag":["_id = true"],"#
          + #""map":["_id.type = 'order' AND _id.owner = :user.id"],"list":["array_contains(_id, :user.id)"],"#
          + #""any":["_id IN ['a', 7, true]"],"claim":["_id.team IN :claims.teams"]"#),
      claims: ["teams": .array([.string("red"), .int(7)])])
    let own = Value.map(["type": .string("order"), "owner": .string("ann"), "n": .int(1)])
    let others = Value.map(["type": .string("order"), "owner": .string("bob")])
    for (collection, id, isAllowed) in [
      ("text", .string("ab"), true), ("text", .string("b"), false), ("text", .int(7), false),
      ("text", own, false), ("number", .int(11), true), ("number", .int(10), false),
      ("flag", .bool(true), true), ("flag", .bool(false), false),
      ("map", own, true), ("map", others, false), ("map", .string("order"), false),
      ("map", .map(["type": .string("order")]), false), ("list", .array([.string("ann"), .int(1)]), true),
      ("list", .array([.string("bob")]), false), ("list", .string("ann"), false), ("any", .string("a"), true),
      ("any", .int(7), true), ("any", .bool(true), true), ("any", .int(8), false),
      ("claim", .map(["team": .string("red")]), true), ("claim", .map(["team": .int(7)]), true),
      ("claim", .map(["team": .string("blue")]), false), ("claim", .map(["n": .int(7)]), false),
    ] as [(String, Value, Bool)] {
      try expectEqual(mayRead(access, collection, id), isAllowed, "\(collection) \(id)")
    }
  }

  @Test func `a query that allows all documents makes those idle that could not be enforced`() throws {
    let access = try access(
      Self.queries(#""orders":["owner = :user.id","'boss' IN :claims.roles"]"#),
      claims: ["roles": .array([.string("boss")])])
    #expect(access.reading == .collections(["orders": .all]))
    #expect(try mayRead(access, "orders", .string("x")))
  }

  @Test(
    arguments: [
      (all, #"{"everything":false}"#), (all, queries(#""orders":["true"]"#)),
      (queries(#""orders":["true"]"#), queries(#""orders":["true"]"#)),
    ] as [(String, String)])
  func `rules that cannot be enforced are refused by their place`(read: String, write: String) throws {
    let error = try #require(throws: RulesError.self) {
      try access(read, write: write, claims: ["team": .string("red")])
    }
    #expect(error.code == .unenforced && error.path == "write" && error.collection == nil, "\(error)")
    #expect(error.message.contains("not enforced yet"), "\(error)")
  }

  @Test func `rules on other fields than the id depend on the document`() throws {
    for query in ["owner = :user.id", "_id = 'a' OR n = 1", "_id = n", "team = :claims.team"] {
      let access = try access(
        Self.queries(#""a":["true"],"orders":["_id = 'x'","\#(query)"]"#), claims: ["team": .string("red")])
      expect(access.dependsOnFields(of: "orders") && !access.dependsOnFields(of: "a"), "\(query)")
      // In some state, each document may be readable.
      try expect(
        mayRead(access, "orders", .string("any")) && !mayRead(access, "other", .string("any")), "\(query)")
    }
    let byID = try access(Self.queries(#""orders":["_id = 'x'"]"#))
    #expect(!byID.dependsOnFields(of: "orders"))
  }

  @Test func `texts that cannot be read are refused`() throws {
    let rules = AccessRules.everything.canonical
    let grant = try Grant(
      rules: Grant.RulesReference(name: "a", sha256: String(repeating: "0", count: 64))
    ).canonical
    #expect(try PeerAccess(grant: grant, rules: rules, user: nil) == access(Self.all, user: nil))
    for (grant, rules, code) in [
      (grant + [32], rules, .notCanonical), (grant, rules + [32], .notCanonical), ([], rules, .json),
      (grant, [], .json), (Array("{}".utf8), rules, .malformed), (grant, Array("{}".utf8), .malformed),
      (grant + [UInt8](repeating: 32, count: Grant.byteLimit), rules, .limit),
      (grant, rules + [UInt8](repeating: 32, count: AccessRules.byteLimit), .limit),
    ] as [([UInt8], [UInt8], RulesError.Code)] {
      do throws(RulesError) {
        _ = try PeerAccess(grant: grant, rules: rules, user: nil)
        Issue.record("It was read: \(String(decoding: grant + rules, as: UTF8.self))")
      } catch {
        expectEqual(error.code, code, "\(error)")
      }
    }
  }

  @Test func `statements run only for a peer that may read everything`() throws {
    #expect(try access(Self.all, remoteQueries: true).runsStatements)
    #expect(try !access(Self.all).runsStatements)
    #expect(try !access(Self.queries(#""orders":["true"]"#), remoteQueries: true).runsStatements)
    for presence in Grant.Presence.allCases {
      try expectEqual(access(Self.all, presence: presence).hearsPresence, presence != .none, "\(presence)")
    }
  }

  @Test func `equal access has equal fingerprints, and other access other ones`() throws {
    let own = Self.queries(#""menus":["true"],"orders":["starts_with(_id, :user.id)","_id = 'x'"]"#)
    let access = try access(own)
    let same = [
      // In another order, as statements, with a collection of which nothing may be read, with idle queries.
      Self.queries(#""orders":["'x' = _id","starts_with(_id, :user.id)"],"menus":["true"]"#),
      Self.queries(
        #""menus":["SELECT * FROM menus"],"orders":["SELECT * FROM orders WHERE starts_with(_id, 'ann')","_id = 'x'"]"#
      ),
      Self.queries(
        #""menus":["true","_id = 1"],"orders":["starts_with(_id, :user.id)","_id = 'x'"],"none":[]"#),
    ]
    for read in same {
      let other = try self.access(read, claims: ["team": .string("red")])
      expectEqual(other.fingerprint, access.fingerprint, "\(read)")
      expectEqual(other.reading, access.reading, "\(read)")
    }
    let different = [
      own, Self.queries(#""menus":["true"],"orders":["starts_with(_id, :claims.p)","_id = 'x'"]"#),
      Self.queries(#""menus":["true"],"orders":["starts_with(_id, :user.id)"]"#),
      Self.queries(#""menus":["true"],"orders":["true"]"#), Self.queries(#""menus":["true"]"#),
      Self.queries(#""orders":["starts_with(_id, :user.id)","_id = 'x'"]"#),
      Self.queries(#""menus":["starts_with(_id, :user.id)","_id = 'x'"],"orders":["true"]"#),
      Self.queries(#""Menus":["true"],"orders":["starts_with(_id, :user.id)","_id = 'x'"]"#),
      Self.queries(""), Self.all,
    ]
    let fingerprints = try different.map { read in
      try self.access(read, claims: ["p": .string("bob")]).fingerprint
    }
    #expect(Set(fingerprints).count == different.count && fingerprints[0] == access.fingerprint)
    // Another user has other documents.
    #expect(try self.access(own, user: "bob").fingerprint != access.fingerprint)
    #expect(try self.access(own, user: nil).fingerprint != access.fingerprint)
  }
}
