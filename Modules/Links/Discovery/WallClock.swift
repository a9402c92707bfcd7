import Platform

/// The system's date.
enum WallClock {
  private static let secondsPerDay = 86_400

  /// The day in UTC, counted since 1970-01-01.
  static var day: Int { Int(time(nil)) / secondsPerDay }
}
