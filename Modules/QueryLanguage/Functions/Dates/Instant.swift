/// A moment, with the offset of the time zone in which its fields are read.
///
/// The calendar is the Gregorian one, also before its introduction. Days have 86,400 seconds.
package struct Instant: Hashable, Sendable {
  /// The first and the last moment of the years 0 to 9999, in milliseconds.
  ///
  /// Four digits can show these years.
  static let bounds: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999
  static let dayMilliseconds: Int64 = 86_400_000

  /// Since 1970-01-01T00:00:00Z.
  private(set) var milliseconds: Int64
  /// East of Greenwich, in seconds.
  private(set) var offset: Int

  /// - Returns: `nil` for a moment that is out of bounds at this offset.
  package init?(milliseconds: Int64, offset: Int = 0) {
    guard abs(offset) < 86_400 else { return nil }
    let (local, isBeyond) = milliseconds.addingReportingOverflow(Int64(offset) * 1_000)
    guard !isBeyond, Self.bounds.contains(local) else { return nil }
    self.milliseconds = milliseconds
    self.offset = offset
  }

  /// The moment at which clocks with this offset show these fields.
  init?(_ fields: Fields, offset: Int) {
    guard (0...9_999).contains(fields.year), (1...12).contains(fields.month), fields.day >= 1,
      fields.day <= Self.days(inMonth: fields.month, of: fields.year), (0..<24).contains(fields.hour),
      (0..<60).contains(fields.minute), (0..<60).contains(fields.second),
      (0..<1_000).contains(fields.millisecond)
    else { return nil }
    let seconds = (fields.hour * 60 + fields.minute) * 60 + fields.second - offset
    let days = Self.days(fields.year, fields.month, fields.day)
    self.init(
      milliseconds: Int64(days) * Self.dayMilliseconds + Int64(seconds) * 1_000 + Int64(fields.millisecond),
      offset: offset)
  }

  /// The fields that a clock and a calendar show.
  struct Fields: Hashable, Sendable {
    var year: Int
    var month = 1
    var day = 1
    var hour = 0
    var minute = 0
    var second = 0
    var millisecond = 0
  }

  private var local: Int64 { milliseconds + Int64(offset) * 1_000 }

  /// Days since 1970-01-01, in local time.
  private var dayNumber: Int { Int(Self.floorDivide(local, Self.dayMilliseconds)) }

  var fields: Fields {
    let (year, month, day) = Self.date(dayNumber)
    let time = Int(local - Int64(dayNumber) * Self.dayMilliseconds)
    return Fields(
      year: year, month: month, day: day, hour: time / 3_600_000, minute: time / 60_000 % 60,
      second: time / 1_000 % 60, millisecond: time % 1_000)
  }

  /// 1 for Monday to 7 for Sunday.
  var weekday: Int { Int(Self.floorRemainder(Int64(dayNumber) + 3, 7)) + 1 }

  /// From 1.
  var dayOfYear: Int { dayNumber - Self.days(fields.year, 1, 1) + 1 }

  /// The ISO 8601 week, from 1: week 1 contains the year's first Thursday.
  var week: Int {
    let thursday = dayNumber - weekday + 4
    return (thursday - Self.days(Self.date(thursday).year, 1, 1)) / 7 + 1
  }

  func with(offset: Int) -> Instant? { Instant(milliseconds: milliseconds, offset: offset) }

  func adding(milliseconds: Int64) -> Instant? {
    let (sum, overflow) = self.milliseconds.addingReportingOverflow(milliseconds)
    return overflow ? nil : Instant(milliseconds: sum, offset: offset)
  }

  /// The same day and time `months` later; if the month has no such day, its last day.
  func adding(months: Int64) -> Instant? {
    guard let months = Int(exactly: months), abs(months) < 1_000_000 else { return nil }
    var fields = fields
    let total = fields.year * 12 + fields.month - 1 + months
    fields.year = Int(Self.floorDivide(Int64(total), 12))
    fields.month = Int(Self.floorRemainder(Int64(total), 12)) + 1
    fields.day = min(fields.day, Self.days(inMonth: fields.month, of: fields.year))
    return Instant(fields, offset: offset)
  }

  static func days(inMonth month: Int, of year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days from 1970-01-01 to a date.
  ///
  /// Source: Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2013, days_from_civil.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    // Years begin in March, so that the leap day is the last day.
    let shifted = month <= 2 ? year - 1 : year
    let era = Int(floorDivide(Int64(shifted), 400))
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// The date that is `days` days after 1970-01-01.
  ///
  /// Source: Hinnant, as above, civil_from_days.
  private static func date(_ days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = Int(floorDivide(Int64(shifted), 146_097))
    let day = shifted - era * 146_097
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365
    let dayOfYear = day - (365 * year + year / 4 - year / 100)
    let month = (5 * dayOfYear + 2) / 153
    return (
      year + era * 400 + (month >= 10 ? 1 : 0), month < 10 ? month + 3 : month - 9,
      dayOfYear - (153 * month + 2) / 5 + 1
    )
  }

  private static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
    (value - floorRemainder(value, divisor)) / divisor
  }

  private static func floorRemainder(_ value: Int64, _ divisor: Int64) -> Int64 {
    let rest = value % divisor
    return rest < 0 ? rest + divisor : rest
  }
}
