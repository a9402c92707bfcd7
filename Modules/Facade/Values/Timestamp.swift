import Foundation
import QueryEngine

/// Dates as documents store them: ISO 8601 in UTC with milliseconds, so that their texts sort by time.
enum Timestamp {
  /// The text of a date, such as `2022-09-17T20:00:46.945Z`; `nil` for dates outside the years 0 to 9999.
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

  /// The time of an ISO 8601 text with a zone; `nil` for anything other than a calendar date.
  static func date(_ text: String) -> Date? {
    guard let milliseconds = DateText.milliseconds(of: text) else { return nil }
    return Date(timeIntervalSince1970: Double(milliseconds) / 1_000 + fraction(ofMillisecondIn: text))
  }

  /// The value of the fraction's digits after the third one, in seconds.
  private static func fraction(ofMillisecondIn text: String) -> Double {
    let fraction = text.utf8.drop { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: ",") }.dropFirst()
    let digits = fraction.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.dropFirst(3)
    return Double("0.000" + String(decoding: digits, as: UTF8.self)) ?? 0
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
