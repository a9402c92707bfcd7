import CRDTCore
import QueryEngine
import TestKit
import Testing

@Suite struct AccumulatorTests {
  private static let aggregates = Aggregate.allCases

  private func result(
    _ aggregate: Aggregate, _ values: [Value?], distinct: Bool = false, subtractable: Bool = false
  ) -> Value? {
    var accumulator = Accumulator(aggregate, distinct: distinct, subtractable: subtractable)
    for value in values { accumulator.add(value) }
    return accumulator.result()
  }

  @Test(arguments: [
    (
      Aggregate.count, [Value?.some(.int(1)), .null, nil, .bool(false), .bool(true), .string("a")],
      Value?.some(.int(3))
    ),
    (.count, [], .int(0)), (.sum, [], nil), (.avg, [], nil), (.min, [], nil), (.max, [], nil),
    (.median, [], nil),
    (.mid, [], nil), (.sum, [.null, nil, .string("1"), .bool(true)], nil), (.min, [.null, nil], nil),
    (.sum, [.int(1), .string("x"), .int(2)], .int(3)), (.sum, [.int(1), .double(0.5)], .double(1.5)),
    (.sum, [.counter(4), .int(1)], .int(5)), (.sum, [.int(.max), .int(1)], nil),
    (.sum, [.int(.max), .int(1), .int(-1)], .int(.max)), (.avg, [.int(1), .int(2)], .double(1.5)),
    (.avg, [.int(.max), .int(.max)], .double(9.223372036854775807e18)),
    (.sum, [.double(1e308), .double(1e308)], nil),
    (.sum, [.double(1e308), .double(1e308), .double(-1e308)], .double(1e308)),
    (.sum, [.double(1), .double(1e100), .double(1), .double(-1e100)], .double(2)),
    (.sum, Array(repeating: .double(0.1), count: 10), .double(1)),
    (
      .sum,
      [
        .double(.leastNonzeroMagnitude), .double(.leastNonzeroMagnitude),
        .double(-Double.leastNonzeroMagnitude),
      ], .double(.leastNonzeroMagnitude)
    ),
    (.sum, [.double(.infinity), .double(1)], nil), (.sum, [.double(.nan)], nil),
    (.sum, [.double(9_007_199_254_740_992), .int(1)], .double(9_007_199_254_740_992)),
    (
      .sum, [.double(9_007_199_254_740_992), .int(1), .double(.leastNonzeroMagnitude)],
      .double(9_007_199_254_740_994)
    ),
    (.min, [.string("a"), .int(3), .double(2.5)], .double(2.5)),
    (.max, [.string("a"), .int(3)], .string("a")),
    (.min, [.bool(true), .bool(false), .null], .bool(false)), (.min, [.double(1), .int(1)], .int(1)),
    (.max, [.double(1), .int(1)], .int(1)), (.max, [.counter(7), .int(1)], .int(7)),
    (.median, [.int(3), .int(1), .int(2)], .int(2)),
    (.median, [.int(4), .int(1), .int(2), .int(3)], .int(2)),
    (.mid, [.int(1), .int(10), .int(5)], .double(5.5)), (.mid, [.int(2), .int(4)], .int(3)),
    (.mid, [.double(1), .int(2)], .double(1.5)), (.mid, [.int(.min), .int(.max)], .double(-0.5)),
    (.median, [.string("a")], nil), (.mid, [.string("a")], nil),
  ])
  func `aggregates of a few values`(aggregate: Aggregate, values: [Value?], expected: Value?) {
    for subtractable in [false, true] {
      expectEqual(result(aggregate, values, subtractable: subtractable), expected)
      expectEqual(result(aggregate, values.reversed(), subtractable: subtractable), expected)
    }
  }

  @Test(arguments: [
    (Aggregate.count, Value.int(3)), (.sum, .int(6)), (.avg, .double(2)), (.median, .int(2)), (.min, .int(1)),
    (.max, .int(3)), (.mid, .int(2)),
  ])
  func `DISTINCT counts values that are equal once`(aggregate: Aggregate, expected: Value) {
    let values: [Value?] = [
      .double(3), .int(1), .int(3), .double(1), .counter(1), .int(2), nil, .null, .int(3),
    ]
    for values in [values, values.reversed()] {
      expectEqual(result(aggregate, values, distinct: true), expected)
    }
  }

  @Test func `COUNT of rows counts all of them`() {
    var accumulator = Accumulator(.count, countsRows: true)
    for value in [nil, .null, Value.bool(false)] { accumulator.add(value) }
    #expect(accumulator.result() == .int(3))
    accumulator.remove(nil)
    #expect(accumulator.result() == .int(2))
  }

  @Test(arguments: 0..<12)
  func `results depend on neither the order nor on rows that have gone`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for aggregate in Self.aggregates {
      for distinct in [false, true] {
        let values = (0..<200).map { _ in Self.value(&random) }
        let others = (0..<200).map { _ in Self.value(&random) }
        let expected = result(aggregate, values, distinct: distinct)
        expectEqual(result(aggregate, values.reversed(), distinct: distinct), expected)
        var accumulator = Accumulator(aggregate, distinct: distinct, subtractable: true)
        for (value, other) in zip(values, others) {
          accumulator.add(other)
          accumulator.add(value)
          if random.oneIn(40) { _ = accumulator.result() }
        }
        for other in others { accumulator.remove(other) }
        expectEqual(accumulator.result(), expected, "\(aggregate) \(distinct) seed \(seed)")
      }
    }
  }

  private static func value(_ random: inout SeededGenerator) -> Value? {
    switch random.int(below: 12) {
    case 0: nil
    case 1: .null
    case 2: .string(random.pick(["a", "b"]))
    case 3, 4, 5: .int(Int64(random.int(below: 9)) - 4)
    case 6: .int(random.pick([.max, .min, 1 << 60]))
    case 7: .counter(3)
    case 8: .double(random.pick([1e300, -1e300, .leastNonzeroMagnitude, 1e-17, .greatestFiniteMagnitude]))
    default: .double(Double(random.int(below: 1_000)) / 8 - 60)
    }
  }

  @Test func `many values do not take long`() {
    var accumulator = Accumulator(.median)
    let start = ContinuousClock.now
    for number in 0..<100_000 { accumulator.add(.int(Int64(number * 7_919 % 100_000))) }
    #expect(accumulator.result() == .int(49_999))
    #expect(ContinuousClock.now - start < .seconds(20))
  }
}
