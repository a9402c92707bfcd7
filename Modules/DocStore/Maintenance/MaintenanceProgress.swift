/// The progress of a backup, a compaction or a verification.
public struct MaintenanceProgress: Hashable, Sendable {
  /// The number of entries done: documents, and the store's other entries.
  public var done: Int
  /// The total number of entries.
  public var total: Int

  /// The share that is done, from 0 to 1.
  public var share: Double { total > 0 ? min(Double(done) / Double(total), 1) : 1 }

  package init(done: Int, total: Int) {
    self.done = done
    self.total = total
  }
}

/// Counts entries and reports at intervals; an error of the receiver ends the work.
struct ProgressMeter {
  private var progress: MaintenanceProgress
  private var untilReport = 0
  private let report: (MaintenanceProgress) throws -> Void
  private static let interval = 512

  init(total: Int, _ report: @escaping (MaintenanceProgress) throws -> Void) {
    progress = MaintenanceProgress(done: 0, total: total)
    self.report = report
  }

  mutating func advance() throws {
    progress.done += 1
    untilReport -= 1
    guard untilReport <= 0 else { return }
    untilReport = Self.interval
    try report(progress)
  }

  mutating func finish() throws {
    progress.done = progress.total
    try report(progress)
  }
}
