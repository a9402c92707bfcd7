import CRDTCore
import QueryEngine

/// Any bytes as a compiled predicate from a peer: refused, or one that encodes to itself and matches as its
/// expression says.
enum Target {
  private static let samples = Samples.records()

  static let seeds: [[UInt8]] = [
    "s = 'JFK' AND i > 3", "NOT (list IS MISSING) OR d BETWEEN 1 AND 2 OR s LIKE 'J%'",
    "ANY x IN list SATISFIES x = 1 END", "map.x IN [1, 2] XOR b", "regexp_like(s, '^J.K$', 'i')",
    "CASE WHEN b THEN upper(s) ELSE 'x' END = 'JFK'", "array_length(list) + 1 << 2 > i",
    "count = 3 AND n IS NULL",
    "OBJECT k : v FOR k : v IN map WHEN v IS NOT NULL END = {'x': 1}", "_id = 'x'",
  ].compactMap { text in
    guard let query = try? SubscriptionQuery(dql: "SELECT * FROM a WHERE \(text)") else { return nil }
    var writer = ByteWriter()
    query.compiled.encode(to: &writer)
    return writer.bytes
  }

  static func run(_ input: [UInt8]) {
    var reader = ByteReader(input.span.bytes)
    guard let predicate = try? CompiledPredicate(from: &reader) else { return }
    var writer = ByteWriter()
    predicate.encode(to: &writer)
    precondition(writer.bytes == Array(input.prefix(writer.bytes.count)), "another predicate")
    guard let id = try? DocumentID("x") else { return }
    var matcher = predicate.matcher
    matcher.resolve(samples.tables.keys)
    for record in samples.records {
      Record(bytes: record).withView { view in _ = matcher.matches(id.bytes.span.bytes, view) }
    }
  }
}
