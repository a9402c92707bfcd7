import Platform

extension Store {
  /// Copies a store to a path and replaces the store there, if there is one; neither may be open.
  ///
  /// The copy has no free pages, and is a new site from its first open on. It is there completely or not at
  /// all. The replaced store is kept under another name. Between the two renames there is nothing at the
  /// path.
  /// - Parameters:
  ///   - backup: The directory of the store to copy. It is not changed, and may be on a read-only medium.
  ///   - path: The path of the copy; its parent must exist.
  ///   - former: The new name of the directory that is at the path now; nothing may have this name.
  ///   - carried: The names of small files to copy from the backup.
  ///   - kept: The names of small files to keep from the replaced store.
  ///   - prepare: Called with the copy's directory before the copy is moved to the path.
  ///   - progress: Called at intervals with the entries done. If it throws, the work ends and nothing
  ///     changes.
  /// - Throws: `notFound`, `exists`, `alreadyOpen`, `corrupt`, `full`, `permission`, `io`; what `prepare` and
  ///   `progress` throw.
  package static func restore(
    from backup: String, to path: String, keepingFormerAt former: String, carrying carried: [String] = [],
    keeping kept: [String] = [], prepare: (String) throws -> Void = { _ in },
    progress: @escaping (MaintenanceProgress) throws -> Void = { _ in }
  ) throws {
    let source = StoreFiles(in: try HeldDirectory(backup))
    StoreFiles.close(try source.openData())
    let sourceLock = try StoreLock(source.held, for: .examining)
    let place = DirectoryDraft.isFree(path) ? nil : try HeldDirectory(path)
    guard DirectoryDraft.isFree(former) else {
      throw StoreError(.exists, "There is something at the path already: \(former)", operation: "restore")
    }
    let placeLock = try place.map { try StoreLock($0) }
    let draft = try DirectoryDraft(of: path, replacing: true, carrying: carried, operation: "restore")
    do {
      try withExtendedLifetime(StoreLock(draft.files.held)) {
        draft.clear()
        let environment = try Environment(source.data, lock: sourceLock, options: StoreOptions())
        try copy(environment, to: draft, progress)
        try draft.carry(from: source.held)
        if let place { try draft.carry(kept, from: place) }
      }
      try prepare(draft.draft)
      try draft.complete(StoreOptions(), keepingFormerAt: place == nil ? nil : former)
    } catch {
      if (error as? StoreError)?.code != .alreadyOpen { draft.discard(kept) }
      throw error
    }
    withExtendedLifetime(placeLock) {}
  }
}
