import CRDTCore
import Foundation
import ScopePolicy
import SyncProtocol
import TestKit
import Testing

/// The examples of `Documentation/Rules.md`, evaluated on documents.
@Suite struct RulesPageTests {
  /// A document, and what the user of an example may do with it.
  private struct Case {
    let collection: String
    let fields: [TextKey: Value]
    let mayRead: Bool
    let mayWrite: Bool

    init(_ collection: String, _ json: String, read: Bool, write: Bool) throws {
      self.collection = collection
      guard case .map(let fields) = try JSON.parse(json) else { throw CocoaError(.coderInvalidValue) }
      self.fields = fields
      (mayRead, mayWrite) = (read, write)
    }
  }

  private static let page: String = {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return (try? String(contentsOf: root.appending(path: "Documentation/Rules.md"), encoding: .utf8)) ?? ""
  }()

  /// The blocks of JSON between a heading and the next one.
  private func blocks(_ heading: String) throws -> [String] {
    let lines = Self.page.split(separator: "\n", omittingEmptySubsequences: false)
    let start = try #require(lines.firstIndex { $0 == Substring(heading) }, "\(heading)")
    let section = lines[(start + 1)...].prefix { !$0.hasPrefix("#") }
    return section.split { $0.hasPrefix("```") }.filter { $0.first?.hasPrefix("{") == true }
      .map { $0.joined(separator: "\n") }
  }

  private func expect(_ heading: String, _ cases: [Case]) throws {
    let blocks = try blocks(heading)
    try #require(blocks.count == 2, "\(heading)")
    let rules = try AccessRules(json: Array(blocks[0].utf8))
    guard case .map(let members) = try JSON.parse(blocks[1]) else { return }
    var id: String?
    if case .string(let text)? = members.members("user")?["id"] { id = text }
    let claims = try Claims(members.members("claims") ?? [:])
    #expect(rules.warnings.isEmpty && rules.warnings(claims: claims, user: id).isEmpty)
    let compiled = CompiledRules(rules, claims: claims, user: id)
    let document = try DocumentID(.string("d"))
    for one in cases {
      let (read, write) = (
        compiled.mayRead(one.collection, document, one.fields),
        compiled.mayWrite(one.collection, document, one.fields)
      )
      TestKit.expect(
        read == one.mayRead && write == one.mayWrite, "\(heading): \(one) is \(read) and \(write)")
      // Nobody without a certificate's claims gets anything that is not for all.
      let stranger = CompiledRules(rules, claims: .none, user: nil)
      if one.mayWrite { TestKit.expect(!stranger.mayWrite(one.collection, document, one.fields)) }
    }
  }

  /// What the grant of an example's user lets a peer do.
  private func access(_ heading: String, writing: AccessRules.Access? = nil) throws -> PeerAccess {
    let blocks = try blocks(heading)
    var rules = try AccessRules(json: Array(blocks[0].utf8))
    if let writing { rules = AccessRules(read: rules.read, write: writing) }
    guard case .map(let members) = try JSON.parse(blocks[1]) else { throw CocoaError(.coderInvalidValue) }
    var id: String?
    if case .string(let text)? = members.members("user")?["id"] { id = text }
    let grant = try Grant(
      rules: Grant.RulesReference(name: "example", sha256: String(repeating: "0", count: 64)),
      claims: Claims(members.members("claims") ?? [:]))
    return try PeerAccess(grant, rules, user: id)
  }

  @Test func `ids that name their owner`() throws {
    let access = try access("### Ids that name their owner")
    func mayRead(_ collection: String, _ id: Value) throws -> Bool {
      let id = try DocumentID(id)
      return access.mayRead(collection, id.bytes.span.bytes)
    }
    #expect(try mayRead("menus", .string("lunch")))
    #expect(try mayRead("orders", .map(["owner": .string("ann"), "n": .int(17)])))
    #expect(try mayRead("orders", .map(["team": .string("red")])))
    #expect(try !mayRead("orders", .map(["owner": .string("bob"), "team": .string("blue")])))
    #expect(try !mayRead("orders", .string("ann")))
  }

  @Test func `each example says whether sync enforces it`() throws {
    let headings = Self.page.split(separator: "\n").filter { $0.hasPrefix("### ") }.map(String.init)
    #expect(headings.count == 6)
    for heading in headings {
      let section = try #require(Self.page.components(separatedBy: heading + "\n\n").last)
      let isEnforced = section.hasPrefix("**Enforced today.**")
      TestKit.expect(isEnforced || section.hasPrefix("**Reading is enforced today.**"), "\(heading)")
      do {
        _ = try access(heading)
        TestKit.expect(isEnforced, "\(heading)")
      } catch let error as RulesError {
        TestKit.expect(
          !isEnforced && error.code == .unenforced && error.path == "write", "\(heading): \(error)")
        let reading = try access(heading, writing: .everything)
        TestKit.expect(reading.reading != .everything, "\(heading)")
      }
    }
  }

  @Test func `own documents`() throws {
    try expect(
      "### Own documents",
      [
        Case("notes", #"{"owner":"ann"}"#, read: true, write: true),
        Case("notes", #"{"owner":"bob"}"#, read: false, write: false),
        Case("notes", #"{}"#, read: false, write: false),
        Case("other", #"{"owner":"ann"}"#, read: false, write: false),
      ])
  }

  @Test func `a team by a list of members`() throws {
    try expect(
      "### A team by a list of members",
      [
        Case("tasks", #"{"members":["bob","ann"]}"#, read: true, write: true),
        Case("tasks", #"{"members":["bob"]}"#, read: false, write: false),
        Case("tasks", #"{"members":"ann"}"#, read: false, write: false),
        Case("tasks", #"{"members":[]}"#, read: false, write: false),
        Case("tasks", #"{}"#, read: false, write: false),
      ])
  }

  @Test func `a kiosk`() throws {
    try expect(
      "### A kiosk",
      [
        Case("menus", #"{}"#, read: true, write: false),
        Case("orders", #"{"kiosk":"k7","status":"new"}"#, read: true, write: true),
        Case("orders", #"{"kiosk":"k7","status":"cooking"}"#, read: true, write: false),
        Case("orders", #"{"kiosk":"k7","status":"served"}"#, read: false, write: false),
        Case("orders", #"{"kiosk":"k7"}"#, read: false, write: false),
        Case("orders", #"{"kiosk":"k8","status":"new"}"#, read: false, write: false),
      ])
  }

  @Test func `a manager`() throws {
    try expect(
      "### A manager",
      [
        Case("wages", #"{"branch":"north"}"#, read: true, write: false),
        Case("wages", #"{"branch":"south"}"#, read: false, write: false),
        Case("orders", #"{"branch":"west","waiter":"bob"}"#, read: true, write: true),
        Case("orders", #"{"branch":"south","waiter":"bob"}"#, read: false, write: false),
        Case("orders", #"{"branch":"south","waiter":"mia"}"#, read: true, write: false),
      ])
  }

  @Test func `a manager's rules for a waiter`() throws {
    let rules = try AccessRules(json: Array(try blocks("### A manager")[0].utf8))
    let claims = try Claims(["roles": .array([.string("waiter")]), "branches": .array([.string("north")])])
    let waiter = CompiledRules(rules, claims: claims, user: "bob")
    let id = try DocumentID(.string("d"))
    #expect(!waiter.mayReadAny("wages") && waiter.mayReadAny("orders"))
    #expect(waiter.mayWrite("orders", id, ["waiter": .string("bob"), "branch": .string("north")]))
    #expect(!waiter.mayRead("orders", id, ["waiter": .string("mia"), "branch": .string("north")]))
  }

  @Test func `a supplier from outside`() throws {
    try expect(
      "### A supplier from outside",
      [
        Case("deliveries", #"{"supplier":"acme","status":"ordered"}"#, read: true, write: true),
        Case("deliveries", #"{"supplier":"acme","status":"confirmed"}"#, read: true, write: true),
        Case("deliveries", #"{"supplier":"acme","status":"paid"}"#, read: false, write: false),
        Case("deliveries", #"{"supplier":"acme"}"#, read: false, write: false),
        Case("deliveries", #"{"supplier":"best","status":"ordered"}"#, read: false, write: false),
        Case("deliveries", #"{"status":"ordered"}"#, read: false, write: false),
      ])
  }

  @Test func `the first text, and the forms of a query`() throws {
    let rules = try AccessRules(json: Array(try #require(try blocks("## The text of rules").first).utf8))
    #expect(rules.read.queryCount == 3 && rules.write.queryCount == 1 && rules.claims == ["teams"])
    let compiled = CompiledRules(rules, claims: .none, user: "ann")
    let id = try DocumentID(.string("d"))
    #expect(compiled.mayWrite("orders", id, ["owner": .string("ann"), "status": .string("new")]))
    #expect(!compiled.mayWrite("orders", id, ["owner": .string("ann"), "status": .string("paid")]))
    // As the page says of a document without a status.
    #expect(!compiled.mayWrite("orders", id, ["owner": .string("ann")]))
    let forms = Self.page.matches(of: /\| `(.*total < 100)` \|/).map { String($0.output.1) }
    #expect(forms.count == 2)
    for form in forms + ["SELECT * FROM orders WHERE owner = :user.id"] {
      let text =
        #"{"read":{"everything":false,"queriesByCollection":{"orders":[\#(JSON.text(of: .string(form)))]}},"#
      let rules = try AccessRules(json: Array((text + #""write":{"everything":false}}"#).utf8))
      let compiled = CompiledRules(rules, claims: .none, user: "ann")
      let fields: [TextKey: Value] = ["owner": .string("ann"), "total": .int(3)]
      TestKit.expect(compiled.mayRead("orders", id, fields), "\(form)")
    }
  }

  @Test func `the grant has the values that hold by default`() throws {
    let text = try #require(try blocks("## Users and claims").first)
    let grant = try Grant(json: Array(text.utf8))
    #expect(try grant == Grant(rules: grant.rules))
  }
}
