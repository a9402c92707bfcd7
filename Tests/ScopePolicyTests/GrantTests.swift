import CRDTCore
import ScopePolicy
import TestKit
import Testing

/// The text of a grant, and the claims in it.
@Suite struct GrantTests {
  private static let hash = String(repeating: "0123456789abcdef", count: 4)
  private static let rules = Grant.RulesReference(name: "waiter", sha256: hash)

  private func grant(_ members: String) throws -> Grant {
    try Grant(json: Array("{\"rules\":{\"name\":\"waiter\",\"sha256\":\"\(Self.hash)\"}\(members)}".utf8))
  }

  @Test func `only the rules are required`() throws {
    let least = try grant("")
    #expect(try least == Grant(rules: Self.rules))
    #expect(least.claims == .none && !least.forwards && !least.remoteQueries)
    #expect(least.presence == .neighbours && least.node == nil)
    #expect(
      String(decoding: least.canonical, as: UTF8.self)
        == "{\"claims\":{},\"forwards\":false,\"presence\":\"neighbours\",\"remoteQueries\":false,"
        + "\"rules\":{\"name\":\"waiter\",\"sha256\":\"\(Self.hash)\"}}")
  }

  @Test(arguments: 0..<60 as Range<UInt64>)
  func `equal grants have equal bytes, and are read back from them`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    func simple() -> Value {
      switch random.int(below: 4) {
      case 0: .string(["", "red", "é\"\\", "\u{1F37D}"][random.int(below: 4)])
      case 1: .int(Int64(truncatingIfNeeded: random.next()))
      case 2: .double(Double(random.int(below: 1_000)) / 8 - 20)
      default: .bool(random.oneIn(2))
      }
    }
    var claims: [TextKey: Value] = [:]
    for index in 0..<random.int(below: 6) {
      claims[TextKey("claim_\(index)")] =
        random.oneIn(2) ? simple() : .array((0..<random.int(below: 4)).map { _ in simple() })
    }
    let grant = try Grant(
      rules: Self.rules, claims: Claims(claims), forwards: random.oneIn(2), remoteQueries: random.oneIn(2),
      presence: random.pick(Grant.Presence.allCases), node: random.oneIn(2) ? "node 1" : nil)
    #expect(try Grant(canonical: grant.canonical) == grant)
    // The same in another layout, with the members in another order.
    let value = try JSON.parse(grant.canonical)
    guard case .map(let members) = value else { return }
    let parts = members.map { "\(JSON.text(of: .string($0.key.text))) :\n \(JSON.text(of: $0.value))" }
    let text = Array("{ \(parts.shuffled(using: &random).joined(separator: " , ")) }".utf8)
    let again = try Grant(json: text)
    #expect(again == grant && again.canonical == grant.canonical && again.claims == grant.claims)
    let error = #expect(throws: RulesError.self) { try Grant(canonical: text) }
    #expect(error?.code == .notCanonical)
  }

  @Test(
    arguments: [
      (#","forwards":1"#, .malformed, "forwards"), (#","remoteQueries":"yes""#, .malformed, "remoteQueries"),
      (#","presence":"all""#, .malformed, "presence"), (#","presence":1"#, .malformed, "presence"),
      (#","node":7"#, .malformed, "node"), (#","node":"""#, .limit, "node"),
      (#","node":"a\u0007""#, .malformed, "node"), (#","more":1"#, .malformed, "more"),
      (#","user":{"id":"ann"}"#, .malformed, "user"), (#","claims":[]"#, .malformed, "claims"),
      (#","claims":{"a":null}"#, .malformed, "claims.a"), (#","claims":{"a":{}}"#, .malformed, "claims.a"),
      (#","claims":{"a":[[]]}"#, .malformed, "claims.a"),
      (#","claims":{"a":[null]}"#, .malformed, "claims.a"),
      (#","claims":{"a.b":1}"#, .malformed, "claims.a.b"), (#","claims":{"":1}"#, .malformed, "claims."),
      (#","claims":{"1a":1}"#, .malformed, "claims.1a"), (#","claims":{"é":1}"#, .malformed, "claims.é"),
    ] as [(String, RulesError.Code, String)])
  func `a mistake is named by its place`(members: String, code: RulesError.Code, path: String) throws {
    let error = try #require(throws: RulesError.self) { try grant(members) }
    #expect(error.code == code && error.path == path, "\(error)")
  }

  @Test(
    arguments: [
      ("{}", .malformed, "rules"), (#"{"rules":{}}"#, .malformed, "rules.name"),
      (#"{"rules":{"name":"a"}}"#, .malformed, "rules.sha256"),
      (#"{"rules":{"name":"a","sha256":"00"}}"#, .malformed, "rules.sha256"),
      (#"{"rules":{"name":"","sha256":"00"}}"#, .limit, "rules.name"), ("7", .malformed, ""),
      ("{", .json, ""),
    ] as [(String, RulesError.Code, String)])
  func `rules are named by a name and a hash`(text: String, code: RulesError.Code, path: String) throws {
    let error = try #require(throws: RulesError.self) { try Grant(json: Array(text.utf8)) }
    #expect(error.code == code && error.path == path, "\(error)")
    let upper = Grant.RulesReference(name: "a", sha256: String(repeating: "A", count: 64))
    #expect(throws: RulesError.self) { try Grant(rules: upper) }
  }

  @Test func `the limits hold at their values`() throws {
    func code(_ make: () throws -> Void) throws -> RulesError.Code {
      try #require(throws: RulesError.self) { try make() }.code
    }
    let empty = JSON.text(of: .map(["a": .string("")])).utf8.count
    let longest = String(repeating: "x", count: Claims.byteLimit - empty)
    let claims = try Claims(["a": .string(longest)])
    #expect(try code { _ = try Claims(["a": .string(longest + "x")]) } == .limit)
    #expect(try Claims([TextKey(String(repeating: "n", count: Claims.nameBytes)): .int(1)]).values.count == 1)
    #expect(
      try code { _ = try Claims([TextKey(String(repeating: "n", count: Claims.nameBytes + 1)): .int(1)]) }
        == .malformed)
    #expect(try code { _ = try Claims(["a": .double(.nan)]) } == .malformed)

    // Names that take the most bytes as JSON leave the whole within its limit.
    let name = String(repeating: "\"", count: Grant.nameBytes)
    let reference = Grant.RulesReference(name: name, sha256: Self.hash)
    let largest = try Grant(
      rules: reference, claims: claims, forwards: false, remoteQueries: false, presence: .neighbours,
      node: name)
    #expect(largest.canonical.count <= Grant.byteLimit)
    #expect(try Grant(canonical: largest.canonical) == largest)
    for long in [name + "x", ""] {
      expectEqual(try code { _ = try Grant(rules: .init(name: long, sha256: Self.hash)) }, .limit)
      expectEqual(try code { _ = try Grant(rules: Self.rules, node: long) }, .limit)
    }
    let spaces = [UInt8](repeating: 32, count: Grant.sourceBytes)
    #expect(try code { _ = try Grant(json: largest.canonical + spaces) } == .limit)
    #expect(try code { _ = try Grant(canonical: largest.canonical + spaces) } == .limit)
  }

  @Test func `claims are the parameters of rules`() throws {
    let claims = try Claims(["team": .string("red"), "level": .int(2)])
    #expect(
      claims.arguments(user: "ann")
        == ["claims.team": .string("red"), "claims.level": .int(2), "user.id": .string("ann")])
    #expect(claims.arguments(user: nil).keys.sorted() == ["claims.level", "claims.team"])
  }
}
