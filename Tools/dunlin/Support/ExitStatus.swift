import ArgumentParser

/// What the program's status says; the table of the page on the command line has each.
///
/// There are also 64 for a command line that cannot be understood, and 128 plus the signal's number for a
/// program that a signal ended.
enum ExitStatus {
  /// It was done.
  static let done: Int32 = 0
  /// It was not done, or the answer is no.
  static let failed: Int32 = 1
  /// The document that was asked for has not arrived: apart from a failure to find out.
  static let absent: Int32 = 2
  /// Something is damaged: apart from a failure to look.
  static let damaged: Int32 = 3
  /// It was done, but for records that were left out.
  static let skipped: Int32 = 4
}
