import CRDTCore
import Foundation
import QueryEngine
import TestKit
import Testing

@Suite struct EvaluatorDateTests {
  private static let environment = EngineEnvironment(
    now: { 0 }, wallClock: { 1_795_244_400_123 },
    zoneOffset: { zone, milliseconds in
      TimeZone(identifier: zone)?
        .secondsFromGMT(for: Date(timeIntervalSince1970: Double(milliseconds) / 1_000))
    })

  private func evaluate(_ text: String, _ arguments: [TextKey: Value] = [:]) throws -> Value? {
    try Evaluator.evaluate(
      constant: try DQL.parseExpression(text), arguments: arguments,
      context: StatementContext(Self.environment))
  }

  @Test(arguments: [
    ("date_part('2026-11-21T07:08:09.123Z', 'year')", Value?.some(.int(2026))),
    ("date_part('2026-11-21T07:08:09.123Z', 'quarter')", .int(4)),
    ("date_part('2026-11-21T07:08:09.123Z', 'MONTH')", .int(11)),
    ("date_part('2026-11-21T07:08:09.123Z', 'days')", .int(21)),
    ("date_part('2026-11-21T07:08:09.123Z', 'ms')", .int(123)),
    ("date_part('2026-11-21T07:08:09.123Z', 'millisecond')", .int(123)),
    ("date_part('2026-11-21T07:08:09.123Z', 'weekday')", .int(6)),
    ("date_part('2026-11-21T07:08:09.123Z', 'doy')", .int(325)),
    ("date_part('2026-11-21T07:08:09.123Z', 'week')", .int(47)),
    ("date_part('2027-01-01T00:00:00Z', 'week')", .int(53)),
    ("date_part('2026-11-21T07:08:09.123Z', 'monthname')", .string("November")),
    ("date_part('2026-11-21T07:08:09.123Z', 'dayname')", .string("Saturday")),
    ("date_part('2026-11-21T07:08:09.123+05:30', 'tz')", .string("+05:30")),
    ("date_part('2026-11-21T23:30:00-02:00', 'day')", .int(21)),
    ("date_part('2026-11-21T23:30:00-02:00', 'day', 'UTC')", .int(22)),
    ("date_part('2026-11-21T12:00:00Z', 'hour', 'Europe/Berlin')", .int(13)),
    ("date_part('2026-07-21T12:00:00Z', 'hour', 'Europe/Berlin')", .int(14)),
    ("date_part('2026-07-21T12:00:00Z', 'hour', 'No/Where')", nil), ("date_part(0, 'year')", .int(1970)),
    ("date_part(-1, 'year')", .int(1969)), ("date_part(-1, 'ms')", .int(999)),
    ("date_part(0.5, 'year')", nil),
    ("date_part('2026-11-21T07:00:00', 'day')", nil), ("date_part('2026-11-21', 'day')", nil),
    ("date_part('2023-02-29T00:00:00Z', 'day')", nil), ("date_part('2024-02-29T00:00:00Z', 'day')", .int(29)),
    ("date_part('1900-02-29T00:00:00Z', 'day')", nil), ("date_part('2026-13-01T00:00:00Z', 'day')", nil),
    ("date_part('2026-01-01T24:00:00Z', 'day')", nil), ("date_part('2026-01-01T00:00:00Zx', 'day')", nil),
    ("date_part(NULL, 'day')", .null), ("date_part(MISSING, 'day')", nil), ("date_part([], 'day')", nil),
    ("date_part(9223372036854775807, 'day')", nil), ("date_part('2026-11-21T07:00:00Z', 'aeon')", nil),
  ])
  func `parts of dates`(text: String, expected: Value?) throws {
    #expect(try evaluate(text) == expected)
  }

  @Test(arguments: [
    ("date_add('2026-01-31T10:00:00Z', 'month', 1)", Value?.some(.string("2026-02-28T10:00:00Z"))),
    ("date_add('2024-02-29T10:00:00+01:00', 'year', 1)", .string("2025-02-28T10:00:00+01:00")),
    ("date_add('2026-12-31T23:59:59.999Z', 'ms', 1)", .string("2027-01-01T00:00:00.000Z")),
    ("date_add('2026-11-21T00:00:00Z', 'week', -1)", .string("2026-11-14T00:00:00Z")),
    ("date_add(0, 'day', 1)", .int(86_400_000)), ("date_sub(0, 'day', 1)", .int(-86_400_000)),
    ("date_sub('2026-03-01T00:00:00Z', 'quarter', 1)", .string("2025-12-01T00:00:00Z")),
    ("date_add(0, 'year', 9000)", nil), ("date_add(0, 'day', 9223372036854775807)", nil),
    ("date_sub(0, 'ms', -9223372036854775808)", nil), ("date_add(0, 'weekday', 1)", nil),
    ("date_add('2026-01-31T00:00:00Z', 1, 'month')", nil), ("date_add(0, 'day', NULL)", .null),
    ("date_add(0, 'day', MISSING)", nil), ("date_add(0, 'day', 1.5)", nil),
    ("date_diff('2026-04-10T12:00:00Z', '2026-04-08T13:00:00Z', 'day')", .int(1)),
    ("date_diff('2026-04-08T13:00:00Z', '2026-04-10T12:00:00Z', 'day')", .int(-1)),
    ("date_diff('2026-03-30T00:00:00Z', '2026-01-31T00:00:00Z', 'month')", .int(1)),
    ("date_diff('2026-01-31T00:00:00Z', '2026-03-30T00:00:00Z', 'month')", .int(-1)),
    ("date_diff('2028-02-28T00:00:00Z', '2024-02-29T00:00:00Z', 'year')", .int(3)),
    ("date_diff('2026-01-01T01:00:00+01:00', 0, 'year')", .int(56)),
    ("date_diff(1, 'x', 'day')", nil), ("date_diff(0, NULL, 'day')", .null), ("date_diff(0, 0, 'tz')", nil),
    ("date_trunc('2026-11-21T07:08:09.123+02:00', 'hour')", .string("2026-11-21T07:00:00.000+02:00")),
    ("date_trunc('2026-11-21T07:08:09.123+02:00', 'day')", .string("2026-11-21T00:00:00.000+02:00")),
    ("date_trunc('2026-11-21T07:08:09.123Z', 'week')", .string("2026-11-16T00:00:00.000Z")),
    ("date_trunc('2026-11-21T07:08:09.123Z', 'quarter')", .string("2026-10-01T00:00:00.000Z")),
    ("date_trunc('2026-11-21T07:08:09.123Z', 'year')", .string("2026-01-01T00:00:00.000Z")),
    ("date_trunc('2026-11-21T07:08:09.123Z', 'ms')", .string("2026-11-21T07:08:09.123Z")),
    ("date_trunc(90000001, 'day')", .int(86_400_000)), ("date_trunc(0, 'monthname')", nil),
    ("date_trunc(NULL, 'day')", .null), ("date_trunc('x', 'day')", nil),
  ])
  func `arithmetic of dates`(text: String, expected: Value?) throws {
    #expect(try evaluate(text) == expected)
  }

  /// The text of a moment, and the same moment a second and a millisecond later.
  @Test(arguments: [
    ("2026-03-01T08:05:00.000Z", "2026-03-01T08:05:01.000Z", "2026-03-01T08:05:00.001Z"),
    ("2026-03-01T08:05:00Z", "2026-03-01T08:05:01Z", "2026-03-01T08:05:00.001Z"),
    ("2026-03-01T08:05:00+00:00", "2026-03-01T08:05:01+00:00", "2026-03-01T08:05:00.001+00:00"),
    ("2026-03-01T08:05:00.000-03:30", "2026-03-01T08:05:01.000-03:30", "2026-03-01T08:05:00.001-03:30"),
    ("2026-03-01T08:05Z", "2026-03-01T08:05:01Z", "2026-03-01T08:05:00.001Z"),
    ("2026-03-01 08:05:00 +0100", "2026-03-01 08:05:01 +0100", "2026-03-01 08:05:00.001 +0100"),
    ("2026-03-01t08:05:00,0+01", "2026-03-01t08:05:01,0+01", "2026-03-01t08:05:00,001+01"),
    ("2026-03-01T08:05:00.000000z", "2026-03-01T08:05:01.000000z", "2026-03-01T08:05:00.001000z"),
  ])
  func `functions keep the spelling of a date`(text: String, second: String, millisecond: String) throws {
    let argument: [TextKey: Value] = ["d": .string(text)]
    #expect(try evaluate("date_trunc(:d, 'ms')", argument) == .string(text))
    #expect(try evaluate("date_trunc(:d, 'minute')", argument) == .string(text))
    #expect(try evaluate("date_add(:d, 'month', 0)", argument) == .string(text))
    #expect(try evaluate("date_format(:d, '')", argument) == .string(text))
    #expect(try evaluate("date_sub(:d, 'second', 0, '')", argument) == .string(text))
    let range = try evaluate("date_range(:d, date_add(:d, 'ms', 1), 'hour')", argument)
    #expect(range == .array([.string(text)]))
    #expect(try evaluate("date_add(:d, 'second', 1)", argument) == .string(second))
    #expect(try evaluate("date_add(:d, 'ms', 1)", argument) == .string(millisecond))
  }

  @Test(arguments: [
    ("date_format(0, '')", "1970-01-01T00:00:00.000Z"),
    ("date_format(0, '', '+01:00')", "1970-01-01T01:00:00.000+01:00"),
    ("date_add(0, 'ms', 5, '')", "1970-01-01T00:00:00.005Z"),
    ("date_format('1970-01-01T00:00:00Z', '', '+01:00')", "1970-01-01T01:00:00+01:00"),
    ("date_format('1970-01-01T01:00:00+01:00', '', 'UTC')", "1970-01-01T00:00:00+00:00"),
    ("date_format('1970-01-01T01:00:00+01', '', '-03:30')", "1969-12-31T20:30:00-0330"),
    ("clock('', '+01:00')", "2026-11-21T08:00:00.123+01:00"),
  ])
  func `milliseconds are spelled as stored dates`(text: String, expected: String) throws {
    #expect(try evaluate(text) == .string(expected))
  }

  @Test(arguments: [
    (
      "date_format('2026-03-01T08:05:09.007Z', 'YYYY-MM-DD hh:mm:ss.sss TZD')",
      Value?.some(.string("2026-03-01 08:05:09.007 +00:00"))
    ),
    (
      "date_format('2026-03-01T18:05:09Z', '%d.%m.%y %H:%M %p %B %a %j %z %%')",
      .string("01.03.26 18:05 PM March Sun 060 +0000 %")
    ),
    ("date_format('2026-03-01T08:05:09Z', 'YYYY', 'Asia/Tokyo')", .string("2026")),
    ("date_format('2026-03-01T20:05:09Z', 'DD HH TZD', 'Asia/Tokyo')", .string("02 05 +09:00")),
    ("date_format('2026-03-01T20:05:09Z', 'HH', '-03:30')", .string("16")), ("date_format(0, '%Q')", nil),
    ("date_format(0, 1)", nil), ("date_format(NULL, 'YYYY')", .null),
    ("date_format(0, 'YYYY', MISSING)", nil),
    ("date_cast('2026-03-01T08:00:00.500+01:00')", .int(1_772_348_400_500)),
    ("date_cast(0)", nil), ("date_cast('2026-03-01T08:00:00')", nil),
    ("date_cast('01.02.2026', 'DD.MM.YYYY')", .int(1_769_904_000_000)),
    ("date_cast('3 Mar 2026 07:08 PM +0200', '%d %b %Y %I:%M %p %z')", .int(1_772_557_680_000)),
    ("date_cast('31.02.2026', 'DD.MM.YYYY')", nil), ("date_cast('x', 'YYYY')", nil),
    ("date_cast(NULL)", .null),
    (
      "date_range('2026-01-30T00:00:00Z', '2026-04-01T00:00:00Z', 'month', 1)",
      .array([
        .string("2026-01-30T00:00:00Z"), .string("2026-02-28T00:00:00Z"), .string("2026-03-30T00:00:00Z"),
      ])
    ),
    ("date_range(0, 3, 'ms', 2)", .array([.int(0), .int(2)])),
    ("date_range(3, 0, 'ms', -2)", .array([.int(3), .int(1)])),
    ("date_range(0, 3, 'ms', -1)", .array([])), ("date_range(0, 3, 'ms', 0)", nil),
    ("date_range(0, 3, 'tz', 1)", nil), ("date_range(0, NULL, 'ms', 1)", .null),
    ("tz_offset('Europe/Berlin', 'TZN')", .int(60)), ("tz_offset('2026-07-01T00:00:00-01:30')", .int(-90)),
    ("tz_offset('UTC', 'TZN')", .int(0)),
    ("tz_offset('-01:30', 'TZN')", .int(-90)), ("tz_offset('Nowhere', 'TZN')", nil),
    ("tz_offset(NULL)", .null),
    ("duration_cast('1h30m')", .int(5_400_000)), ("duration_cast('1.5s')", .int(1_500)),
    ("duration_cast('PT1H')", .int(3_600_000)), ("duration_cast('-P1DT2H')", .int(-93_600_000)),
    ("duration_cast('P1M')", nil), ("duration_cast('1h30m', 'minute')", .int(90)),
    ("duration_cast(250)", .int(250)),
    ("duration_cast('')", nil), ("duration_cast('5')", nil), ("duration_cast('99999999999999999999h')", nil),
    ("duration_cast('PT')", nil), ("duration_cast(NULL)", .null), ("duration_cast([])", nil),
    ("duration_format(5400000)", .string("1h30m0s")), ("duration_format(1500)", .string("1.5s")),
    ("duration_format(-61000)", .string("-1m1s")), ("duration_format(0)", .string("0ms")),
    ("duration_format(-9223372036854775808)", .string("-2562047788015h12m55.808s")),
    ("duration_format('1s')", nil),
    ("clock()", .int(1_795_244_400_123)), ("clock('')", .string("2026-11-21T07:00:00.123Z")),
    ("clock('YYYY-MM-DD')", .string("2026-11-21")),
    ("clock('hh', 'America/New_York')", .string("02")), ("clock(NULL)", .null), ("clock(1)", nil),
  ])
  func `texts of dates and durations`(text: String, expected: Value?) throws {
    #expect(try evaluate(text) == expected)
  }

  @Test func `the calendar is the one that Foundation has, over 400 years`() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
    let units: Set<Calendar.Component> = [.year, .month, .day, .weekday]
    for day in stride(from: -109_572, to: 73_050, by: 61) {
      let moment = Date(timeIntervalSince1970: Double(day) * 86_400)
      let expected = calendar.dateComponents(units, from: moment)
      let argument: [TextKey: Value] = ["d": Value.int(Int64(day) * 86_400_000)]
      let text = try evaluate("date_format(:d, 'YYYY MM DD')", argument)
      let parts = [expected.year, expected.month, expected.day].compactMap { $0 }
      expectEqual(text, .string(String(format: "%04d %02d %02d", parts[0], parts[1], parts[2])), "\(day)")
      let weekday = try #require(expected.weekday)
      try expectEqual(evaluate("date_part(:d, 'weekday')", argument), .int(Int64((weekday + 5) % 7 + 1)))
      try expectEqual(evaluate("date_diff(date_cast(date_format(:d, '')), :d, 'ms')", argument), .int(0))
    }
  }

  @Test func `a range of dates is bounded`() throws {
    let error = try #require(throws: QueryError.self) { try evaluate("date_range(0, 100000000000000, 'ms')") }
    #expect(error.code == .limit)
  }

  @Test(arguments: [
    ("round(2.5)", Value?.some(.double(3))), ("round(-2.5)", .double(-3)), ("round(1.256, 2)", .double(1.26)),
    ("round(1250, -2)", .int(1300)), ("round(-1250, -2)", .int(-1300)), ("round(1249, -2)", .int(1200)),
    ("round(7)", .int(7)), ("round(1e300, 400)", .double(1e300)), ("round(5, -400)", .int(0)),
    ("round(9223372036854775807, -1)", nil), ("trunc(2.9)", .double(2)), ("trunc(-2.99, 1)", .double(-2.9)),
    ("trunc(1299, -2)", .int(1200)), ("sign(-3)", .int(-1)), ("sign(0.0)", .int(0)), ("sign(2.5)", .int(1)),
    ("power(2, 10)", .int(1024)), ("power(2, 63)", .double(9.223372036854775808e18)),
    ("power(2, -1)", .double(0.5)),
    ("power(-8, 0.5)", nil), ("power(10, 400)", nil), ("power(-1, 9223372036854775807)", .int(-1)),
    ("sqrt(9)", .double(3)), ("sqrt(-1)", nil), ("exp(0)", .double(1)), ("exp(1000)", nil),
    ("ln(1)", .double(0)),
    ("ln(0)", nil), ("log10(1000)", .double(3)), ("log10(-1)", nil), ("pi()", .double(.pi)),
    ("round('a')", nil), ("sqrt(NULL)", .null), ("power(2, MISSING)", nil), ("sign(true)", nil),
    ("ln([])", nil),
    ("exp(NULL)", .null), ("trunc(1.5, 'x')", nil), ("round(1.5, NULL)", .null), ("log10('1')", nil),
    ("array_sort([3, 'a', 1, null, true])", .array([.bool(true), .int(1), .int(3), .string("a"), .null])),
    ("array_sort('a')", nil), ("array_sort(NULL)", .null), ("array_sort([])", .array([])),
    ("array_distinct([2, 1, 2.0, 1, null, null])", .array([.int(2), .int(1), .null])),
    ("array_distinct(1)", nil),
    ("array_distinct(MISSING)", nil),
  ])
  func `mathematics and arrays`(text: String, expected: Value?) throws {
    #expect(try evaluate(text) == expected)
  }
}
