import QueryEngine

/// Any text as a DQL statement.
enum Target {
  static let seeds: [[UInt8]] = [
    "SELECT * FROM flights WHERE origin = 'JFK' AND dep_delay > :m ORDER BY dep_delay DESC LIMIT 10 OFFSET 2",
    "SELECT * FROM a WHERE b.c[0] IN [1, -2.5, 'x'] OR NOT (d IS MISSING) AND e BETWEEN 1 AND 2 OR f LIKE 'a%'",
    "INSERT INTO a DOCUMENTS ({\"_id\": 1, \"m\": {\"k\": [true, null]}}), (:d) ON ID CONFLICT DO UPDATE",
    "UPDATE a SET b = 1, c.d = :e UNSET f APPLY g PN_INCREMENT BY 2 WHERE _id = 'x'",
    "DELETE FROM a WHERE `key` != \"b\"",
    "EVICT FROM a WHERE CASE WHEN a > 1 THEN true ELSE false END LIMIT 1",
    "ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES = {'a': 'AllPeers'}", "SHOW ALL", "EXPLAIN SELECT * FROM a",
    "SELECT o.*, MISSING k, c.n AS x FROM a o LEFT JOIN b c USE INDEX '' ON c._id = o.k WHERE o.x > 1 ORDER BY x",
    "SELECT a, COUNT(DISTINCT b) AS n FROM c GROUP BY a HAVING SUM(d) > 1 ORDER BY n DESC LIMIT 3",
    "SELECT ANY i : v IN a SATISFIES v.x SIMILAR TO 'a|b' END, OBJECT k : v FOR k : v WITHIN o WHEN v END FROM c",
    "SELECT a FROM c UNION ALL (SELECT b FROM d WHERE b IN (SELECT x FROM e)) INTERSECT SELECT c FROM f",
    "INSERT INTO COLLECTION c (m MAP(r REGISTER), n COUNTER) SELECT * FROM d ON ID CONFLICT DO NOTHING RETURNING _id",
    "UPDATE c SET m -> (a = 1, b -> tombstone()) RETURNING *",
    "CREATE INDEX IF NOT EXISTS i ON c (a.b DESC, t[*])",
    "SELECT /*+ {\"#index\": \"i\"} */ TRIM(LEADING 'x' FROM a) COLLATE nocase FROM c USE DIRECTIVES '{}'",
  ].map { Array($0.utf8) }

  static func run(_ input: [UInt8]) {
    let text = String(decoding: input, as: UTF8.self)
    do throws(QueryError) {
      let statement = try DQL.parse(text)
      // What prints as DQL parses back to the same text, unless it has grown over the limits.
      let printed = statement.description
      guard let again = try? DQL.parse(printed) else { return }
      precondition(again.description == printed, "another statement")
    } catch {
      _ = error.description
    }
  }
}
