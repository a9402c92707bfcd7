import QueryEngine

/// Any text as an expression of the query-builder language.
enum Target {
  static let seeds: [[UInt8]] = [
    "color == 'red' && a.b > $args.m", "!(starts_with(name, 'x') || contains(list, 3)) && d <= -1.5e2",
    "true", "a['b c'].d != null && e in [1, 2, 'x']", "regex(a, '^x.*y$')", "_id == 'abc' || b[0] < \"q\\n\"",
  ].map { Array($0.utf8) }

  static func run(_ input: [UInt8]) {
    do throws(QueryError) {
      _ = try Builder.parse(String(decoding: input, as: UTF8.self)).description
    } catch {
      _ = error.description
    }
  }
}
