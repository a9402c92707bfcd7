public import DocStore

/// One point of a series of backups, which can be restored.
public typealias DunlinBackupPoint = BackupPoint

/// Which point of a series of backups is meant.
public typealias DunlinBackupMoment = BackupMoment

extension DunlinStore {
  /// Adds the present state to a series of backups; reads and writes go on.
  ///
  /// The first point is a base with the whole database. A later one has only the pages that differ from the
  /// point before. The point is either complete or not there. The whole database is read and verified.
  /// - Parameters:
  ///   - path: The directory of the series; it is created if it does not exist.
  ///   - label: What the series belongs to. Only a database with the same label adds to it.
  ///   - asBase: Whether to begin with a new base, so that older points can be removed.
  ///   - progress: Is called with the number of entries at intervals, on another thread.
  /// - Returns: The new point.
  /// - Throws: `corrupt` if the database or a file of the series is damaged; `notFound` if a file of the
  ///   series is missing; `argument` for another label; `exists` if the directory is a database;
  ///   `alreadyOpen` while another backup or a restore uses the series; `full`, `permission`, `io`, `closed`;
  ///   `CancellationError` soon after the task is cancelled, and then no point is added.
  public func backup(
    toSeries path: String, label: String = "", asBase: Bool = false,
    progress: @escaping @Sendable (DunlinProgress) -> Void = { _ in }
  ) async throws -> DunlinBackupPoint {
    try await besideTasks { [local] check in
      try local.store.backup(toSeries: path, label: label, asBase: asBase, carrying: Dunlin.carriedFiles) {
        try check($0, progress)
      }
    }
  }
}

extension Dunlin {
  /// The points of a series of backups, in order; unfinished files are ignored.
  ///
  /// - Parameter path: The directory of the series.
  /// - Returns: The points.
  /// - Throws: `notFound`, `permission`, `io`; `corrupt` with the damaged file and the byte.
  public static func backups(inSeries path: String) throws -> [DunlinBackupPoint] {
    try translatingErrors { try Store.backups(inSeries: path) }
  }

  /// Reads all files of a series of backups, and checks every checksum.
  ///
  /// - Parameters:
  ///   - path: The directory of the series.
  ///   - progress: Is called with the number of pages at intervals, on another thread.
  /// - Returns: The points, all of which can be restored.
  /// - Throws: `corrupt` or `notFound` with the first file that is damaged or missing; `alreadyOpen`,
  ///   `permission`, `io`; `CancellationError`.
  public static func verifyBackups(
    inSeries path: String, progress: @escaping @Sendable (DunlinProgress) -> Void = { _ in }
  ) async throws -> [DunlinBackupPoint] {
    try await besideTasks { check in try Store.verifyBackups(inSeries: path) { try check($0, progress) } }
  }

  /// Removes the points of a series that no restore to a moment at or after a time needs.
  ///
  /// The newest base that is not younger stays, with all that follows it.
  /// - Parameters:
  ///   - path: The directory of the series.
  ///   - time: Milliseconds since 1970.
  /// - Returns: The removed points.
  /// - Throws: `notFound`, `alreadyOpen`, `corrupt`, `permission`, `io`.
  @discardableResult
  public static func pruneBackups(inSeries path: String, before time: UInt64) throws -> [DunlinBackupPoint] {
    try translatingErrors { try Store.pruneBackups(inSeries: path, before: time) }
  }

  /// Restores a point of a series of backups as a new database.
  ///
  /// The new database is another peer. It is either complete or does not exist. All checksums are checked.
  /// - Parameters:
  ///   - path: The directory of the series.
  ///   - moment: Which point: the newest, or the last one up to a time or a commit.
  ///   - target: A directory that does not exist, or is empty; its parent must exist, and have room for the
  ///     database twice.
  ///   - progress: Is called at intervals, on another thread.
  /// - Returns: The restored point.
  /// - Throws: `exists`; `corrupt` with the damaged file and the byte; `notFound` for a missing point or
  ///   file; `alreadyOpen`, `full`, `permission`, `io`; `CancellationError`, and then there is no new
  ///   database.
  public static func restore(
    fromSeries path: String, at moment: DunlinBackupMoment = .newest, to target: String,
    progress: @escaping @Sendable (DunlinProgress) -> Void = { _ in }
  ) async throws -> DunlinBackupPoint {
    try await besideTasks { check in
      try Store.restore(fromSeries: path, at: moment, to: target) { try check($0, progress) }
    }
  }
}
