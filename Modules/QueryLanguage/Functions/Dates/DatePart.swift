import CRDTCore

/// A part of a date, and the unit of a difference between dates.
enum DatePart: String, Sendable {
  case year, quarter, month, week, day, hour, minute, second
  case millisecond = "ms"
  // These are only read; they are not units to add or to truncate by.
  case weekday, monthname, dayname
  case dayOfYear = "doy"
  case zone = "tz"

  /// The part of a name in either case, also in the plural.
  init?(name: String) {
    let name = name.lowercased()
    let short: [TextKey: DatePart] = [
      "mon": .month, "min": .minute, "sec": .second, "millis": .millisecond, "timezone": .zone,
    ]
    if let part = DatePart(rawValue: name) ?? short[name] {
      self = part
    } else if name.utf8.starts(with: "millisecond".utf8), name.utf8.count <= 12 {
      self = .millisecond
    } else if name.utf8.last == UInt8(ascii: "s"), let part = DatePart(rawValue: String(name.dropLast())),
      part.isUnit
    {
      self = part
    } else {
      return nil
    }
  }

  /// Whether it is a unit of time.
  var isUnit: Bool { months != nil || milliseconds != nil }

  /// The number of months in the unit, if it consists of months.
  private var months: Int64? {
    switch self {
    case .year: 12
    case .quarter: 3
    case .month: 1
    default: nil
    }
  }

  /// The number of milliseconds in the unit, if that is always the same.
  var milliseconds: Int64? {
    switch self {
    case .week: 7 * Instant.dayMilliseconds
    case .day: Instant.dayMilliseconds
    case .hour: 3_600_000
    case .minute: 60_000
    case .second: 1_000
    case .millisecond: 1
    default: nil
    }
  }

  func value(of instant: Instant) -> Value {
    let fields = instant.fields
    switch self {
    case .year: return .int(Int64(fields.year))
    case .quarter: return .int(Int64((fields.month - 1) / 3 + 1))
    case .month: return .int(Int64(fields.month))
    case .week: return .int(Int64(instant.week))
    case .day: return .int(Int64(fields.day))
    case .hour: return .int(Int64(fields.hour))
    case .minute: return .int(Int64(fields.minute))
    case .second: return .int(Int64(fields.second))
    case .millisecond: return .int(Int64(fields.millisecond))
    case .weekday: return .int(Int64(instant.weekday))
    case .dayOfYear: return .int(Int64(instant.dayOfYear))
    case .monthname: return .string(DateNames.months[fields.month - 1])
    case .dayname: return .string(DateNames.days[instant.weekday - 1])
    case .zone: return .string(DateText.zone(instant.offset))
    }
  }

  /// The moment `count` of these units later.
  ///
  /// It is `nil` where the result is out of bounds, and for a part that is not a unit.
  func added(to instant: Instant, _ count: Int64) -> Instant? {
    let (total, overflow) = (months ?? milliseconds ?? 0).multipliedReportingOverflow(by: count)
    guard isUnit, !overflow else { return nil }
    return months != nil ? instant.adding(months: total) : instant.adding(milliseconds: total)
  }

  /// The number of whole units between two moments; `nil` for a part that is not a unit.
  func difference(_ left: Instant, _ right: Instant) -> Int64? {
    if let milliseconds { return (left.milliseconds - right.milliseconds) / milliseconds }
    guard let months, let left = left.with(offset: right.offset) else { return nil }
    var count = Int64((left.fields.year - right.fields.year) * 12 + left.fields.month - right.fields.month)
    // An incomplete month does not count.
    if let reached = right.adding(months: count) {
      if count > 0, reached.milliseconds > left.milliseconds { count -= 1 }
      if count < 0, reached.milliseconds < left.milliseconds { count += 1 }
    }
    return count / months
  }

  /// The beginning of the unit that contains a moment; `nil` for a part that is not a unit.
  func truncated(_ instant: Instant) -> Instant? {
    guard isUnit else { return nil }
    var fields = instant.fields
    if self == .week {
      return Instant(
        milliseconds: instant.milliseconds - Int64(instant.weekday - 1) * Instant.dayMilliseconds,
        offset: instant.offset
      ).flatMap(DatePart.day.truncated)
    }
    if self == .millisecond { return instant }
    fields.millisecond = 0
    if self == .second { return Instant(fields, offset: instant.offset) }
    fields.second = 0
    if self == .minute { return Instant(fields, offset: instant.offset) }
    fields.minute = 0
    if self == .hour { return Instant(fields, offset: instant.offset) }
    fields.hour = 0
    if self == .day { return Instant(fields, offset: instant.offset) }
    fields.day = 1
    if self == .quarter { fields.month = (fields.month - 1) / 3 * 3 + 1 }
    if self == .year { fields.month = 1 }
    return Instant(fields, offset: instant.offset)
  }
}

/// The names of months and days, always in English.
enum DateNames {
  static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November",
    "December",
  ]
  static let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
}
