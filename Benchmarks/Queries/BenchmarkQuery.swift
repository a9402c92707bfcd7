/// One question in the languages of all contenders.
struct BenchmarkQuery {
  /// What a loop over raw LMDB looks for in the texts of the documents.
  enum RawFilter {
    case below(field: String, bound: Double)
    case prefix(field: String, text: String)
    case id
  }

  let name: String
  let dql: String
  /// `nil` where SQLite by itself cannot answer.
  let sql: String?
  /// The result columns that answers are compared by; the first ones of the SQL statement.
  var columns = ["_id"]
  var isOrdered = false
  /// Where it is asked: of stores without indexes, of stores with them, or of both.
  var places: [Place] = [.scan]
  var collection = "orders"
  var raw: RawFilter?

  enum Place: String, Codable, CaseIterable {
    case scan
    case index = "by index"
  }

  /// Whether each run asks for another document, bound to `:id`.
  var isPoint: Bool { if case .id = raw { true } else { false } }

  /// The questions of the suite; `prefix` begins the mail addresses of some orders.
  static func all(prefix: String) -> [BenchmarkQuery] {
    filtersAndOrders(prefix: prefix) + calculations + groupsAndJoins
  }

  private static func filtersAndOrders(prefix: String) -> [BenchmarkQuery] {
    let both: [Place] = [.scan, .index]
    let amount = "json_extract(json, '$.amount')"
    let email = "json_extract(json, '$.email')"
    return [
      BenchmarkQuery(
        name: "filter 1 %", dql: "SELECT * FROM orders WHERE amount < 10",
        sql: "SELECT id, json FROM orders WHERE \(amount) < 10", places: both,
        raw: .below(field: "amount", bound: 10)),
      BenchmarkQuery(
        name: "order, limit 20", dql: "SELECT * FROM orders ORDER BY createdAt LIMIT 20",
        sql: "SELECT id, json FROM orders ORDER BY json_extract(json, '$.createdAt') LIMIT 20",
        isOrdered: true, places: both),
      BenchmarkQuery(
        name: "text prefix", dql: "SELECT * FROM orders WHERE email LIKE '\(prefix)%'",
        sql: "SELECT id, json FROM orders WHERE \(email) GLOB '\(prefix)*'", places: both,
        raw: .prefix(field: "email", text: prefix)),
      BenchmarkQuery(
        name: "count of a filter", dql: "SELECT COUNT(*) AS n FROM orders WHERE status = 'paid'",
        sql: "SELECT count(*) FROM orders WHERE json_extract(json, '$.status') = 'paid'", columns: ["n"],
        places: both),
      BenchmarkQuery(
        name: "point", dql: "SELECT * FROM orders WHERE _id = :id",
        sql: "SELECT id, json FROM orders WHERE id = :id", raw: .id),
      BenchmarkQuery(
        name: "two fields", dql: "SELECT * FROM flights WHERE origin = 'JFK' AND distance > 2500",
        sql: """
          SELECT id, json FROM flights
          WHERE json_extract(json, '$.origin') = 'JFK' AND json_extract(json, '$.distance') > 2500
          """, places: both, collection: "flights"),
    ]
  }

  /// Conditions and orders that are worked out, for which no index stands ready.
  private static var calculations: [BenchmarkQuery] {
    func count(_ name: String, where condition: String, sql: String?) -> BenchmarkQuery {
      BenchmarkQuery(
        name: name, dql: "SELECT COUNT(*) AS n FROM orders WHERE \(condition)",
        sql: sql.map { "SELECT count(*) FROM orders WHERE \($0)" }, columns: ["n"])
    }
    func field(_ name: String) -> String { "json_extract(json, '$.\(name)')" }
    return [
      count("arithmetic", where: "price * 2 > 4900", sql: "\(field("price")) * 2 > 4900"),
      count(
        "two fields compared", where: "updatedAt > createdAt + 100000000",
        sql: "\(field("updatedAt")) > \(field("createdAt")) + 100000000"),
      count("small letters", where: "lower(status) = 'paid'", sql: "lower(\(field("status"))) = 'paid'"),
      count(
        "array contains", where: "array_contains(tags, 'audit')",
        sql: "EXISTS (SELECT 1 FROM json_each(orders.json, '$.tags') WHERE value = 'audit')"),
      count("regular expression", where: "regexp_like(note, 'lada.*start')", sql: nil),
      count("regular expression, anchored", where: "regexp_like(email, '^[a-m][^@]*@')", sql: nil),
      count(
        "in a long list", where: "email IN (SELECT email FROM orders WHERE amount < 100)",
        sql: "\(field("email")) IN (SELECT \(field("email")) FROM orders WHERE \(field("amount")) < 100)"),
      count(
        "small letters in a long list",
        where: "lower(email) IN (SELECT email FROM orders WHERE amount < 100)",
        sql: """
          lower(\(field("email"))) IN (SELECT \(field("email")) FROM orders WHERE \(field("amount")) < 100)
          """),
      BenchmarkQuery(
        name: "order by a product, limit 20", dql: "SELECT * FROM orders ORDER BY price * amount LIMIT 20",
        sql: "SELECT id, json FROM orders ORDER BY \(field("price")) * \(field("amount")) LIMIT 20",
        isOrdered: true),
    ]
  }

  private static var groupsAndJoins: [BenchmarkQuery] {
    let amount = "json_extract(json, '$.amount')"
    return [
      BenchmarkQuery(
        name: "count", dql: "SELECT COUNT(*) AS n FROM orders", sql: "SELECT count(*) FROM orders",
        columns: ["n"]),
      BenchmarkQuery(
        name: "group by", dql: "SELECT status, COUNT(*) AS n, SUM(amount) AS s FROM orders GROUP BY status",
        sql: """
          SELECT json_extract(json, '$.status'), count(*), sum(\(amount)) FROM orders
          GROUP BY json_extract(json, '$.status')
          """, columns: ["status", "n", "s"]),
      BenchmarkQuery(
        name: "distinct", dql: "SELECT DISTINCT status FROM orders",
        sql: "SELECT DISTINCT json_extract(json, '$.status') FROM orders", columns: ["status"]),
      BenchmarkQuery(
        name: "join by id",
        dql: """
          SELECT f._id AS id, a.name AS name FROM flights f JOIN airlines a ON a._id = f.carrier
          WHERE f.distance > 2500
          """,
        sql: """
          SELECT f.id, json_extract(a.json, '$.name') FROM flights f
          JOIN airlines a ON a.id = json_extract(f.json, '$.carrier')
          WHERE json_extract(f.json, '$.distance') > 2500
          """, columns: ["id", "name"], collection: "flights"),
    ]
  }
}
