import CRDTCore
import QueryEngine
import TestKit
import Testing

@Suite struct EvaluatorOrderTests {
  private static let ascending: [Value?] = [
    .bool(false), .bool(true), .double(.nan), .double(-.infinity), .int(.min), .double(-1.5), .int(-1),
    .int(0), .double(0.5),
    .int(1), .counter(2), .int(1 << 53), .int(1 << 53 + 1), .int(.max), .double(0x1p63), .double(.infinity),
    .bytes([]),
    .bytes([0]), .bytes([0, 0]), .bytes([1]), .string(""), .string("A"), .string("a"), .string("aa"),
    .string("b"), .string("é"),
    .string("\u{FFFD}"), .string("😀"), .array([]), .array([.int(1)]), .array([.int(1), .null]),
    .array([.string("")]),
    .map([:]), .map(["a": .int(1)]), .map(["a": .int(1), "b": .int(0)]), .map(["a": .int(2)]),
    .map(["b": .int(0)]),
    .attachment(AttachmentToken(id: [1], byteCount: 1)), .attachment(AttachmentToken(id: [1], byteCount: 2)),
    .null, nil,
  ]

  @Test func `the order of types and values is total`() {
    for (left, leftValue) in Self.ascending.enumerated() {
      for (right, rightValue) in Self.ascending.enumerated() {
        let order = SortOrder.compare(leftValue, rightValue)
        expectEqual(
          order.signum(), (left - right).signum(),
          "\(String(describing: leftValue)) \(String(describing: rightValue))")
      }
    }
  }

  @Test func `equal numbers of three types are equal`() {
    let threes: [Value] = [.int(3), .double(3), .counter(3)]
    for left in threes {
      for right in threes { expectEqual(SortOrder.compare(left, right), 0) }
    }
    #expect(SortOrder.compare(.double(-0.0), .int(0)) == 0)
    #expect(SortOrder.compare(.double(.nan), .double(.nan)) == 0)
  }

  @Test(arguments: [
    (Int64.max, 0x1p63, -1), (.max, 0x1p63.nextDown, 1), (.min, -0x1p63, 0), (.min, (-0x1p63).nextUp, -1),
    (.min, (-0x1p63).nextDown, 1), (1 << 53 + 1, 0x1p53, 1), (0, .leastNonzeroMagnitude, -1),
    (0, -.leastNonzeroMagnitude, 1), (5, 5.5, -1),
    (-5, -5.5, 1),
    (0, .infinity, -1), (0, -.infinity, 1),
  ])
  func `integers and doubles compare without rounding`(whole: Int64, double: Double, expected: Int) {
    #expect(SortOrder.compare(whole, double) == expected)
    #expect(SortOrder.compare(.double(double), .int(whole)) == -expected)
  }
}
