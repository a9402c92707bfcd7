#if Server
  package import DocStore
  import Facade
  package import Foundation

  /// Restores a backup as an application's store, while the server does not run.
  package struct StoreRestore {
    /// The directory of the backup, or of a series of backups.
    package let backup: String
    /// The application whose store is replaced.
    package let application: BigPeerConfiguration.Application
    /// Whether it takes the place of the original store; otherwise it counts as a restored copy.
    package let isOriginal: Bool
    /// Which point of a series.
    package let moment: BackupMoment

    /// Describes a restore.
    package init(
      _ backup: String, _ application: BigPeerConfiguration.Application, asOriginal: Bool,
      at moment: BackupMoment = .newest
    ) {
      self.backup = backup
      self.application = application
      isOriginal = asOriginal
      self.moment = moment
    }

    /// Whether the directory has a series of backups, and not one backup.
    package var isSeries: Bool {
      get throws {
        guard !FileManager.default.fileExists(atPath: "\(backup)/data.mdb") else { return false }
        return try !Store.backups(inSeries: backup).isEmpty
      }
    }

    /// Verifies the backup, and copies it to the place of the store.
    ///
    /// The application's device key stays. The former store is kept beside the new one.
    /// - Parameters:
    ///   - now: The time, which names the former store.
    ///   - progress: Is called with the number of entries at intervals. If it throws, the work ends, and
    ///     nothing has changed.
    /// - Returns: The path of the former store; `nil` if there was none.
    /// - Throws: `BigPeerError` for a damaged backup; what the store throws.
    package func carryOut(
      now: Date = Date(), progress: @escaping (MaintenanceProgress) throws -> Void = { _ in }
    ) throws -> String? {
      if try isSeries {
        try checkLabel()
        try Directory.make(application.folder)
        return try Store.withBackup(
          inSeries: backup, at: moment, scratch: "\(application.storePath).image", progress: progress
        ) { image, _ in try replace(by: image, now, progress) }.1
      }
      guard moment == .newest else {
        throw BigPeerError("the backup \(backup) is no series, and has one moment alone")
      }
      let damage = try Store.verify(at: backup, progress: progress).damages.first
      if let damage {
        throw BigPeerError("the backup \(backup) is damaged: \(damage); nothing was changed")
      }
      try Directory.make(application.folder)
      return try replace(by: backup, now, progress)
    }

    /// Refuses the series of another application as the original.
    private func checkLabel() throws {
      guard isOriginal, let label = try Store.backups(inSeries: backup).last?.label, !label.isEmpty,
        label != application.id
      else { return }
      throw BigPeerError(
        "the series \(backup) is of the application \(label), and does not take the place of \(application.id): without --as-original it is a copy that keeps quiet"
      )
    }

    private func replace(
      by backup: String, _ now: Date, _ progress: @escaping (MaintenanceProgress) throws -> Void
    ) throws -> String? {
      let path = application.storePath
      let stamp = now.formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
      let former = "\(path).before-\(stamp)"
      let isTaken = FileManager.default.fileExists(atPath: "\(path)/data.mdb")
      try Store.restore(
        from: backup, to: path, keepingFormerAt: former, carrying: Dunlin.carriedFiles,
        keeping: Dunlin.ownFiles,
        prepare: { draft in if isOriginal { try StoreOrigin.claim(draft) } }, progress: progress)
      return isTaken ? former : nil
    }
  }
#endif
