import CRDTCore
import QueryLanguage
import TestKit
import Testing

/// Queries of rules: their forms, their parameters, and what they may not have.
@Suite struct RuleQueryTests {
  private func accepts(
    _ text: String, _ fields: [TextKey: Value], _ arguments: [TextKey: Value] = [:]
  ) throws -> Bool {
    let predicate = try RuleQuery(text, on: "orders").compiled(arguments)
    let document = Value.map(fields)
    return predicate?.accepts { document.value(at: $0) } ?? false
  }

  @Test(
    arguments: [
      ("SELECT * FROM orders WHERE team = 'red'", .dql),
      ("select * from orders where orders.team = 'red'", .dql),
      ("team = 'red'", .dql), ("team == 'red'", .dql), ("team == 'red' && n > 1", .builder),
      ("team == 'red' || n > 8", .builder), ("!(team == 'blue')", .builder),
      ("team == $args.user.id", .builder),
      ("team == $args['user.id']", .builder), ("team = '!' OR team = 'red'", .dql),
      ("team = 'red' -- it's red", .dql), ("true", .dql), ("SELECT * FROM orders", .dql),
    ] as [(String, SubscriptionQuery.Language)])
  func `each form is recognised`(text: String, language: SubscriptionQuery.Language) throws {
    let query = try RuleQuery(text, on: "orders")
    #expect(query.language == language)
    #expect(query.text == text)
    let fields: [TextKey: Value] = ["team": .string("red"), "n": .int(2)]
    #expect(try accepts(text, fields, [RuleQuery.user: .string("red")]))
  }

  @Test func `a parameter has the value of the user or of a claim`() throws {
    let arguments: [TextKey: Value] = [
      "user.id": .string("ann"), "claims.teams": .array([.string("red"), .string("blue")]),
      "claims.level": .int(3),
    ]
    let document: [TextKey: Value] = [
      "owner": .string("ann"), "members": .array([.string("bob"), .string("ann")]), "team": .string("blue"),
      "level": .int(2),
    ]
    for text in [
      "owner = :user.id", "array_contains(members, :user.id)", "team IN :claims.teams",
      "level < :claims.level", "level < :claims.level AND (owner = :user.id)", "owner == $args.user.id",
      "contains($args.claims.teams, team) && level < $args.claims.level", "'red' IN :claims.teams",
    ] {
      expect(try accepts(text, document, arguments), "\(text)")
      expect(try !accepts(text, document), "\(text) without values")
    }
    let query = try RuleQuery("owner = :user.id OR team IN :claims.teams", on: "orders")
    #expect(query.parameters == ["user.id", "claims.teams"])
    // One part that has a value does not make up for one that has none.
    #expect(try query.compiled(["user.id": .string("ann")]) == nil)
  }

  @Test func `claims can make a query true of everything, or of nothing`() throws {
    let query = try RuleQuery("'manager' IN :claims.roles", on: "orders")
    let everything = try query.compiled(["claims.roles": .array([.string("cook"), .string("manager")])])
    #expect(try everything == CompiledPredicate(nil))
    let nothing = try #require(try query.compiled(["claims.roles": .array([])]))
    #expect(!nothing.mayAccept)
  }

  @Test func `what is neither true nor false is denied`() throws {
    for text in [
      "n != 3", "NOT n = 3", "n = NULL", "n > 'a'", "NOT (n IN [1, 2])", "NOT regexp_like(n, '(')",
    ] {
      expect(try !accepts(text, ["m": .int(1)]), "\(text)")
    }
    let pattern = "NOT regexp_like(name, :claims.pattern)"
    #expect(try !accepts(pattern, ["name": .string("a")], ["claims.pattern": .string("(")]))
  }

  @Test(
    arguments: [
      ("owner = :user", .argument, 9), ("owner = :claims", .argument, 9),
      ("owner = :claims.a.b", .argument, 9),
      ("owner = :team", .argument, 9), ("owner == $args.team", .argument, 10),
      ("owner == $args['x']", .argument, 10),
      ("SELECT * FROM cars", .argument, 15), ("SELECT * FROM Orders", .argument, 15), ("", .syntax, 1),
      ("owner = ", .syntax, 9), ("owner == 'a' && ", .syntax, 17), ("a = 1 && b = 2", .syntax, 3),
      ("a = 1; b = 2", .syntax, 8), ("DELETE FROM orders", .syntax, 1), ("nothing(a)", .unknownFunction, 1),
      ("a = clock()", .unsupported, nil), ("COUNT(*) > 1", .syntax, 1),
      ("a IN (SELECT b FROM cars)", .unsupported, nil), ("SELECT a FROM orders", .unsupported, nil),
      ("SELECT * FROM orders LIMIT 3", .unsupported, nil),
      ("SELECT * FROM orders ORDER BY a", .unsupported, nil),
      ("SELECT DISTINCT * FROM orders", .unsupported, nil),
      ("SELECT * FROM orders JOIN cars ON orders.a = cars._id", .unsupported, nil),
      (String(repeating: "a OR ", count: 2_000) + "a", .limit, nil),
    ] as [(String, QueryError.Code, Int?)])
  func `what rules cannot have is refused, with its place`(
    text: String, code: QueryError.Code, column: Int?
  ) throws {
    let error = try #require(throws: QueryError.self) { try RuleQuery(text, on: "orders") }
    #expect(error.code == code, "\(error)")
    if let column { #expect(error.position?.column == column, "\(error)") }
  }

  @Test func `parameters of several parts are for rules alone`() throws {
    #expect(throws: QueryError.self) { try SubscriptionQuery(dql: "SELECT * FROM c WHERE a = :user.id") }
    #expect(throws: QueryError.self) { try Builder.parse("a == $args.user.id") }
    #expect(RuleQuery.claim(of: "claims.team") == "team")
    #expect(RuleQuery.claim(of: "claims.") == nil)
    #expect(RuleQuery.claim(of: "user.id") == nil)
    #expect(RuleQuery.parameter(ofClaim: "team") == "claims.team")
  }

  @Test(
    arguments: [
      ("a = NULL", false), ("a != NULL", false), ("a == null && true", true), ("a IS NULL", true),
      ("FALSE", false), ("a = 1 AND FALSE", false), ("a = 1 OR FALSE", true), ("a IN []", false),
      ("a IN [NULL]", false), ("NOT (a IN [])", true), ("a = 'x' AND a = 'y'", false),
      ("a = 1 AND a = 1.0", true), ("a = 'x' AND a = 'x'", true), ("a = 'x' AND b = 'y'", true),
      ("a = :user.id AND a = 'y'", true), ("1 = 2", false), ("a IN 'text'", false), ("true", true),
      ("a > NULL", false), ("a = 'x' OR b = NULL", true),
    ])
  func `a query that can never be true is found`(text: String, mayAccept: Bool) throws {
    let query = try RuleQuery(text, on: "orders")
    #expect(query.mayAccept == mayAccept)
    if !mayAccept {
      for value: Value in [.null, .int(1), .string("x"), .string("y"), .array([]), .bool(true)] {
        expect(try !accepts(text, ["a": value, "b": value]))
      }
    }
  }
}
