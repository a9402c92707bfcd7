import CRDTCore
import QueryEngine
import TestKit
import Testing

@Suite struct ExecSortPrefixTests {
  private static let edges: [Value?] = [
    nil, .null, .bool(false), .bool(true), .double(.nan), .double(-.infinity), .double(.infinity),
    .double(-0.0),
    .double(0), .int(0), .int(.min), .int(.max), .double(9.3e18), .double(0x1p63), .int(.max - 1),
    .int(1 << 53),
    .int(1 << 53 + 1), .double(.leastNonzeroMagnitude), .double(-.leastNonzeroMagnitude), .string(""),
    .string("\u{0}"), .string("abcdefg"),
    .string("abcdefgh"), .string("abcdefghi"), .string("\u{10FFFF}"), .bytes([]), .bytes([255]), .counter(3),
    .array([]), .map([:]),
  ]

  @Test func `never contradicts the order of values`() {
    var queries = RandomQueries(seed: 7)
    let values = Self.edges + (0..<150).map { _ in queries.value(depth: 1) }
    for left in values {
      for right in values where SortOrder.prefix(left) < SortOrder.prefix(right) {
        expect(
          SortOrder.compare(left, right) < 0, "\(String(describing: left)), \(String(describing: right))")
      }
    }
  }

  @Test func `tells most values apart`() {
    #expect(SortOrder.prefix(.int(1)) < SortOrder.prefix(.int(2)))
    #expect(SortOrder.prefix(.double(-1.5)) < SortOrder.prefix(.int(-1)))
    #expect(SortOrder.prefix(.string("ab")) < SortOrder.prefix(.string("ac")))
  }
}
