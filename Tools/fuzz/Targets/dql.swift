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
  ].map { Array($0.utf8) }

  static func run(_ input: [UInt8]) {
    let text = String(decoding: input, as: UTF8.self)
    do throws(QueryError) {
      guard case .select(let select) = try DQL.parse(text), let predicate = select.predicate else { return }
      // What prints as DQL parses back to the same text.
      let printed = predicate.description
      guard case .select(let again)? = try? DQL.parse("SELECT * FROM a WHERE \(printed)") else { return }
      precondition(again.predicate?.description == printed, "another predicate")
    } catch {
      _ = error.description
    }
  }
}
