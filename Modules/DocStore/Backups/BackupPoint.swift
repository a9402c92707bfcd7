public import CRDTCore

/// One point of a backup series: a state of a store that can be restored.
public struct BackupPoint: Hashable, Sendable {
  /// Its number in the series; each point has the next one.
  public let number: Int
  /// Whether its file has all pages of the store; otherwise it has those that differ from the point before.
  public let isBase: Bool
  /// When it was made, in milliseconds since 1970.
  public let time: UInt64
  /// The last commit that it includes, and its random number.
  public let sequence: UInt64
  public let commitID: UInt64
  /// The site of the store.
  public let site: SiteID
  /// What the series belongs to, as the first backup named it; may be empty.
  public let label: String
  /// The name of its file in the series' directory, and the file's length.
  public let file: String
  public let fileBytes: Int
  /// The number of pages in its file, and those of the store.
  public let pageCount: Int
  public let storePageCount: Int
}

/// Which point of a backup series is meant.
public enum BackupMoment: Hashable, Sendable {
  /// The last one.
  case newest
  /// The last one that was made at this time, in milliseconds since 1970, or before.
  case time(UInt64)
  /// The last one that includes no later commit than this one.
  case sequence(UInt64)
  /// The one with this number.
  case number(Int)
}

extension BackupMoment: CustomStringConvertible {
  public var description: String {
    switch self {
    case .newest: "the newest point"
    case .time(let milliseconds): "a point made at \(Self.text(milliseconds)) or before"
    case .sequence(let sequence): "a point at the commit \(sequence) or before"
    case .number(let number): "the point \(number)"
    }
  }

  /// A time in ISO 8601, in UTC with milliseconds.
  ///
  /// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms" (2013), `civil_from_days`.
  private static func text(_ milliseconds: UInt64) -> String {
    func digits(_ number: Int, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(count - text.utf8.count, 0)) + text
    }
    let total = Int(clamping: milliseconds)
    let (days, rest) = (total / 86_400_000 + 719_468, total % 86_400_000)
    let dayOfEra = days % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let (day, month) = (dayOfYear - (153 * shifted + 2) / 5 + 1, shifted < 10 ? shifted + 3 : shifted - 9)
    let year = yearOfEra + days / 146_097 * 400 + (month <= 2 ? 1 : 0)
    let date = "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))"
    let (hour, minute) = (digits(rest / 3_600_000, 2), digits(rest / 60_000 % 60, 2))
    return "\(date)T\(hour):\(minute):\(digits(rest / 1_000 % 60, 2)).\(digits(rest % 1_000, 3))Z"
  }
}
