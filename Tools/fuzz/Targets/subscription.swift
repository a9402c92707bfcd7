import CRDTCore
import QueryEngine

/// Any bytes as a subscription: refused, or one that encodes to itself and matches without a trap.
enum Target {
  static let samples = Samples.records()
  static let seeds: [[UInt8]] = [
    try? SubscriptionQuery(dql: "SELECT * FROM a WHERE s = :s AND i > 3", arguments: ["s": .string("JFK")]),
    try? SubscriptionQuery(
      collection: "a", builder: "map.x == $args.x || starts_with(s, 'J')", arguments: ["x": .int(1)]),
  ].compactMap { query in
    guard let query else { return nil }
    var writer = ByteWriter()
    query.encode(to: &writer)
    return writer.bytes
  }

  static func run(_ input: [UInt8]) {
    var reader = ByteReader(input.span.bytes)
    guard let query = try? SubscriptionQuery(from: &reader) else { return }
    var writer = ByteWriter()
    query.encode(to: &writer)
    var again = ByteReader(writer.bytes.span.bytes)
    precondition((try? SubscriptionQuery(from: &again)) == query, "another query")
  }
}
