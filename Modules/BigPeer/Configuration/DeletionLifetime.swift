#if Server
  /// The rules for how long deletions are remembered, which are those of the system parameters.
  enum DeletionLifetime {
    private static let hours: ClosedRange<Int64> = 1...876_600

    /// Whether it is a whole number of hours within the bounds.
    static func isValid(_ lifetime: Duration) -> Bool {
      lifetime == .seconds(hours(of: lifetime) * 3_600) && hours.contains(hours(of: lifetime))
    }

    /// The whole hours of a lifetime.
    static func hours(of lifetime: Duration) -> Int64 { lifetime.components.seconds / 3_600 }

    /// The message that says what a valid lifetime is.
    static func expectation(isEndless: Bool) -> String {
      isEndless
        ? "must be 0, which means for ever, or a time in whole hours from \"1h\" to \"36525d\", such as \"365d\""
        : "must be a time in whole hours from \"1h\" to \"36525d\", such as \"72h\" or \"30d\""
    }
  }
#endif
