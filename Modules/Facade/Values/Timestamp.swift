import Foundation

/// Dates as documents hold them: ISO 8601 in UTC with milliseconds, so that strings order as times do.
enum Timestamp {
  /// For example `2022-09-17T20:00:46.945Z`; `nil` for dates outside the years 0 to 9999.
  static func text(_ date: Date) -> String? {
    let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
    guard let total = Int64(exactly: milliseconds) else { return nil }
    let (days, rest) = total.quotientAndRemainder(flooringBy: 86_400_000)
    guard let (year, month, day) = civil(days), (0...9_999).contains(year) else { return nil }
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60)
    let (second, fraction) = (rest / 1_000 % 60, rest % 1_000)
    return
      "\(pad(year, 4))-\(pad(month))-\(pad(day))T\(pad(hour)):\(pad(minute)):\(pad(second)).\(pad(fraction, 3))Z"
  }

  /// The time that a text of ISO 8601 names, with or without a fraction of a second.
  static func date(_ text: String) -> Date? {
    if let date = ownDate(text) { return date }
    for includesFraction in [true, false] {
      let style = Date.ISO8601FormatStyle(includingFractionalSeconds: includesFraction)
      if let date = try? style.parse(text) { return date }
    }
    return nil
  }

  /// Reads what `text(_:)` writes, exactly.
  private static func ownDate(_ text: String) -> Date? {
    let form = Array("0000-00-00T00:00:00.000Z".utf8)
    let bytes = Array(text.utf8)
    guard bytes.count == form.count else { return nil }
    var numbers: [Int64] = [0]
    for (byte, pattern) in zip(bytes, form) {
      if pattern == UInt8(ascii: "0") {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
        numbers[numbers.count - 1] = numbers[numbers.count - 1] * 10 + Int64(byte - UInt8(ascii: "0"))
      } else {
        guard byte == pattern else { return nil }
        numbers.append(0)
      }
    }
    let days = days(year: numbers[0], month: numbers[1], day: numbers[2])
    let seconds = days * 86_400 + numbers[3] * 3_600 + numbers[4] * 60 + numbers[5]
    let date = Date(timeIntervalSince1970: Double(seconds * 1_000 + numbers[6]) / 1_000)
    // A month 13 or an hour 25 is another date, which does not write back so.
    return Self.text(date) == text ? date : nil
  }

  /// The day of a date, counted from 1970-01-01; as `civil`, `days_from_civil`.
  private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let marchYear = month <= 2 ? year - 1 : year
    let (era, yearOfEra) = marchYear.quotientAndRemainder(flooringBy: 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// The date of a day in the proleptic Gregorian calendar, counted from 1970-01-01.
  ///
  /// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
  private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64)? {
    let (shifted, overflow) = days.addingReportingOverflow(719_468)
    guard !overflow else { return nil }
    let (era, dayOfEra) = shifted.quotientAndRemainder(flooringBy: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
  }

  private static func pad(_ number: Int64, _ width: Int = 2) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

extension Int64 {
  fileprivate func quotientAndRemainder(flooringBy divisor: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
