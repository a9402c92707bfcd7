#if Server
  package import DocStore
  import Facade
  package import Foundation

  /// Restores a backup as an application's store, while the server does not run.
  package struct StoreRestore {
    /// The directory of the backup.
    package let backup: String
    /// The application whose store is replaced.
    package let application: BigPeerConfiguration.Application
    /// Whether it takes the place of the original store; otherwise it counts as a restored copy.
    package let isOriginal: Bool

    /// Describes a restore.
    package init(_ backup: String, _ application: BigPeerConfiguration.Application, asOriginal: Bool) {
      self.backup = backup
      self.application = application
      isOriginal = asOriginal
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
      let damage = try Store.verify(at: backup, progress: progress).damages.first
      if let damage {
        throw BigPeerError("the backup \(backup) is damaged: \(damage); nothing was changed")
      }
      try Directory.make(application.folder)
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
