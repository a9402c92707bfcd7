#if Server
  package import DocStore
  import Facade
  package import Foundation

  /// Puts a backup into the place of an application's store, while the server does not run.
  package struct StoreRestore {
    /// The directory of the backup.
    package let backup: String
    /// Where it goes.
    package let application: BigPeerConfiguration.Application
    /// Whether it takes the place of the store that it is from; else it keeps quiet as a copy.
    package let isOriginal: Bool

    /// Makes a plan.
    package init(_ backup: String, _ application: BigPeerConfiguration.Application, asOriginal: Bool) {
      self.backup = backup
      self.application = application
      isOriginal = asOriginal
    }

    /// Looks for damage in the backup, and puts a copy of it into its place.
    ///
    /// The application's device key stays. The store that was there is kept beside it.
    /// - Parameters:
    ///   - now: Names the store that was there.
    ///   - progress: Hears of entries now and then; what it throws ends the work, and all is as before.
    /// - Returns: Where the former store is; `nil` where there was none.
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
