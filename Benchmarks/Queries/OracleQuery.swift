import BenchmarkSupport
import Foundation

/// A random query in both languages: on one table, on two that are joined, or of two that are combined.
struct OracleQuery {
  private(set) var dql = ""
  private(set) var sql = ""
  private(set) var columns: [String] = []
  private(set) var isOrdered = false

  /// The same expression in both languages.
  private struct Both {
    var dql: String
    var sql: String

    init(_ dql: String, _ sql: String) {
      self.dql = dql
      self.sql = sql
    }

    /// One that both languages write alike.
    init(_ text: String) { self.init(text, text) }

    /// Stands before every field of the first table until it is known how the query calls that.
    private static let marker = "\u{1}"

    static func field(_ path: String) -> Both {
      Both("\(marker)\(path)", "json_extract(\(marker)json, '$.\(path)')")
    }

    /// The same with what stands before each field.
    func qualified(_ prefix: String) -> Both {
      Both(
        dql.replacingOccurrences(of: Self.marker, with: prefix),
        sql.replacingOccurrences(of: Self.marker, with: prefix))
    }

    static func joined(_ parts: [Both], _ separator: String) -> Both {
      Both(parts.map(\.dql).joined(separator: separator), parts.map(\.sql).joined(separator: separator))
    }
  }

  init(_ random: inout SplitMix64) {
    let filter = random.below(6) == 0 ? nil : Self.predicate(depth: 3, &random)
    let end = filter.map { Both(" WHERE \($0.dql)", " WHERE \($0.sql)") } ?? Both("")
    var prefix = ""
    switch random.below(8) {
    case 0, 1: aggregates(end, &random)
    case 2: groups(end, &random)
    case 3: distinct(end, &random)
    case 4: combined(end, &random)
    case 5:
      prefix = "x."
      joined(end, &random)
    default: rows(end, &random)
    }
    let both = Both(dql, sql).qualified(prefix)
    (dql, sql) = (both.dql, both.sql)
  }

  private mutating func distinct(_ filter: Both, _ random: inout SplitMix64) {
    let fields = [["s"], ["n"], ["s", "n"], ["o.x", "t"], ["a", "n"]][random.below(5)]
    columns = fields.indices.map { "x\($0)" }
    let list = Both.joined(
      zip(fields, columns).map { path, name in
        let field = Self.field(path)
        return Both("\(field.dql) AS \(name)", "\(field.sql) AS \(name)")
      }, ", ")
    dql = "SELECT DISTINCT \(list.dql) FROM t\(filter.dql)"
    sql = "SELECT DISTINCT \(list.sql) FROM t\(filter.sql)"
  }

  private mutating func combined(_ filter: Both, _ random: inout SplitMix64) {
    let name = random.pick(["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
    let other = Self.predicate(depth: 2, &random)
    let (left, right) = (
      Self.field(random.pick(["a", "n", "o.x"])), Self.field(random.pick(["a", "n", "o.x"]))
    )
    columns = ["v"]
    dql =
      "SELECT \(left.dql) AS v FROM t\(filter.dql) \(name) SELECT \(right.dql) AS v FROM t WHERE \(other.dql)"
    sql =
      "SELECT \(left.sql) AS v FROM t\(filter.sql) \(name) SELECT \(right.sql) AS v FROM t WHERE \(other.sql)"
  }

  private mutating func joined(_ filter: Both, _ random: inout SplitMix64) {
    let kind = random.below(2) == 0 ? "JOIN" : "LEFT JOIN"
    let field = Self.field(random.pick(["a", "n", "o.x"]))
    var on = Both("y.k = \(field.dql)", "json_extract(y.json, '$.k') = \(field.sql)")
    if random.below(3) == 0 {
      let bound = random.below(6)
      on = Both("\(on.dql) AND y.w > \(bound)", "\(on.sql) AND json_extract(y.json, '$.w') > \(bound)")
    }
    columns = ["l", "r", "w"]
    dql =
      "SELECT x._id AS l, y._id AS r, y.w AS w FROM t x \(kind) u y USE INDEX '' ON \(on.dql)\(filter.dql)"
    sql = "SELECT x.id, y.id, json_extract(y.json, '$.w') FROM t x \(kind) u y ON \(on.sql)\(filter.sql)"
    guard random.below(3) == 0 else { return }
    let total = random.pick(["COUNT(*)", "SUM(§)", "MIN(§)", "COUNT(DISTINCT §)"])
    columns = ["k", "x"]
    let key = Self.field(random.pick(["a", "s", "n"]))
    dql =
      "SELECT \(key.dql) AS k, \(total) AS x FROM t x \(kind) u y USE INDEX '' ON \(on.dql)\(filter.dql)"
      .replacingOccurrences(of: "§", with: "y.w") + " GROUP BY \(key.dql)"
    sql =
      "SELECT \(key.sql) AS k, \(total) AS x FROM t x \(kind) u y ON \(on.sql)\(filter.sql)"
      .replacingOccurrences(of: "§", with: "json_extract(y.json, '$.w')") + " GROUP BY \(key.sql)"
  }

  private mutating func rows(_ filter: Both, _ random: inout SplitMix64) {
    let value = Self.number(depth: 2, &random)
    columns = ["_id", "e"]
    dql = "SELECT _id, \(value.dql) AS e FROM t\(filter.dql)"
    sql = "SELECT id, \(value.sql) AS e FROM t\(filter.sql)"
    guard random.below(2) == 0 else { return }
    isOrdered = true
    var keys: [Both] = []
    for _ in 0..<(1 + random.below(2)) {
      let key = Self.field(random.pick(["a", "b", "s", "t", "n", "o.x"]))
      // SQLite puts null first, which stands last in ours, and the other way round.
      keys.append(
        random.below(2) == 0
          ? Both("\(key.dql) ASC", "\(key.sql) ASC NULLS LAST")
          : Both("\(key.dql) DESC", "\(key.sql) DESC NULLS FIRST"))
    }
    let order = Both.joined(keys + [Both("_id", "id")], ", ")
    var window = ""
    if random.below(2) == 0 {
      window = " LIMIT \(random.below(30))"
      if random.below(2) == 0 { window += " OFFSET \(random.below(20))" }
    }
    dql += " ORDER BY \(order.dql)\(window)"
    sql += " ORDER BY \(order.sql)\(window)"
  }

  private static let totals = ["COUNT", "SUM", "MIN", "MAX", "AVG", "COUNT(DISTINCT", "SUM(DISTINCT"]

  private static func aggregate(_ random: inout SplitMix64) -> Both {
    let name = random.pick(totals)
    if name == "COUNT", random.below(2) == 0 { return Both("COUNT(*)") }
    let value = field(random.pick(["a", "b", "n", "o.x"]))
    let open = name.contains("(") ? "\(name) " : "\(name)("
    return Both("\(open)\(value.dql))", "\(open)\(value.sql))")
  }

  private mutating func aggregates(_ filter: Both, _ random: inout SplitMix64) {
    let all = (0..<(1 + random.below(3))).map { _ in Self.aggregate(&random) }
    columns = all.indices.map { "x\($0)" }
    let list = Both.joined(zip(all, columns).map { Both("\($0.dql) AS \($1)", "\($0.sql) AS \($1)") }, ", ")
    dql = "SELECT \(list.dql) FROM t\(filter.dql)"
    sql = "SELECT \(list.sql) FROM t\(filter.sql)"
  }

  private mutating func groups(_ filter: Both, _ random: inout SplitMix64) {
    let key = Self.field(random.pick(["a", "s", "n", "o.x"]))
    let total = Self.aggregate(&random)
    columns = ["k", "x"]
    dql = "SELECT \(key.dql) AS k, \(total.dql) AS x FROM t\(filter.dql) GROUP BY \(key.dql)"
    sql = "SELECT \(key.sql) AS k, \(total.sql) AS x FROM t\(filter.sql) GROUP BY \(key.sql)"
    if random.below(2) == 0 {
      let bound = random.below(8)
      dql += " HAVING COUNT(*) > \(bound)"
      sql += " HAVING COUNT(*) > \(bound)"
    }
  }

  private static func field(_ path: String) -> Both { Both.field(path) }

  /// A number that stays small: no overflow, and no division, which the two do otherwise by zero.
  private static func number(depth: Int, _ random: inout SplitMix64) -> Both {
    guard depth > 0, random.below(3) > 0 else {
      return random.below(3) == 0
        ? Both(String(random.below(9))) : field(random.pick(["a", "b", "n", "o.x"]))
    }
    let (left, right) = (number(depth: depth - 1, &random), number(depth: depth - 1, &random))
    let name = random.pick(["+", "-", "*"])
    return Both("(\(left.dql) \(name) \(right.dql))", "(\(left.sql) \(name) \(right.sql))")
  }

  private static func text(_ random: inout SplitMix64) -> Both {
    random.below(3) == 0
      ? Both("'\(random.pick(["ann", "Ann", "bob", "", "b", "zoë"]))'") : field(random.pick(["s", "t"]))
  }

  private static func predicate(depth: Int, _ random: inout SplitMix64) -> Both {
    guard depth > 0, random.below(4) > 0 else { return comparison(&random) }
    if random.below(5) == 0 {
      let inner = predicate(depth: depth - 1, &random)
      return Both("(NOT \(inner.dql))", "(NOT \(inner.sql))")
    }
    let (left, right) = (predicate(depth: depth - 1, &random), predicate(depth: depth - 1, &random))
    let name = random.below(2) == 0 ? "AND" : "OR"
    return Both("(\(left.dql) \(name) \(right.dql))", "(\(left.sql) \(name) \(right.sql))")
  }

  private static func comparison(_ random: inout SplitMix64) -> Both {
    let path = random.pick(["a", "b", "n", "o.x"])
    let (number, low) = (field(path), random.below(12) - 4)
    switch random.below(9) {
    case 0: return between(number, low, low + random.below(5))
    case 1:
      let list = (0..<(1 + random.below(4))).map { _ in String(random.below(12) - 4) }.joined(separator: ", ")
      let name = random.below(2) == 0 ? "IN" : "NOT IN"
      return Both("(\(number.dql) \(name) [\(list)])", "(\(number.sql) \(name) (\(list)))")
    case 2:
      let test = random.below(2) == 0 ? "IS NULL" : "IS NOT NULL"
      return Both("(\(number.dql) \(test))", "(\(number.sql) \(test))")
    case 3:
      let pattern = random.pick(["a%", "%b", "_nn", "%n%", "b%b", "%", "", "An_%"])
      let name = random.below(3) == 0 ? "NOT LIKE" : "LIKE"
      let value = field(random.pick(["s", "t"]))
      return Both("(\(value.dql) \(name) '\(pattern)')", "(\(value.sql) \(name) '\(pattern)')")
    case 4, 5:
      return operation(text(&random), text(&random), &random)
    case 6, 7: return operation(number, Both(String(low)), &random)
    default: return operation(self.number(depth: 1, &random), self.number(depth: 1, &random), &random)
    }
  }

  private static func between(_ value: Both, _ low: Int, _ high: Int) -> Both {
    Both("(\(value.dql) BETWEEN \(low) AND \(high))", "(\(value.sql) BETWEEN \(low) AND \(high))")
  }

  private static func operation(_ left: Both, _ right: Both, _ random: inout SplitMix64) -> Both {
    let name = random.pick(["=", "!=", "<", "<=", ">", ">="])
    return Both("(\(left.dql) \(name) \(right.dql))", "(\(left.sql) \(name) \(right.sql))")
  }
}
