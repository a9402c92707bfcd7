import Platform

extension Store {
  /// Puts a copy of a store into the place of another one, or where none is; neither may be open.
  ///
  /// The copy has no free pages, and is a site of its own from its first open on. It is there whole or not at all. The store
  /// whose place it takes is kept under another name. Between the two renames the place is empty.
  /// - Parameters:
  ///   - backup: The directory of the store to be copied, which is not changed; it may be on a medium that cannot be written to.
  ///   - path: The place, whose parent must exist.
  ///   - former: What the directory is called afterwards that stands at the place; nothing may be there.
  ///   - carried: The names of small files that go along from the backup.
  ///   - kept: The names of small files that stay in the place.
  ///   - prepare: Called with the copy's directory before that takes the place.
  ///   - progress: Hears of entries now and then; what it throws ends the work, and all is as before.
  /// - Throws: `notFound`, `exists`, `alreadyOpen`, `corrupt`, `full`, `permission`, `io`; what `prepare` and `progress` throw.
  package static func restore(
    from backup: String, to path: String, keepingFormerAt former: String, carrying carried: [String] = [],
    keeping kept: [String] = [], prepare: (String) throws -> Void = { _ in },
    progress: @escaping (MaintenanceProgress) throws -> Void = { _ in }
  ) throws {
    let source = StoreFiles(in: try HeldDirectory(backup))
    StoreFiles.close(try source.openData())
    let sourceLock = try StoreLock(source.held, isReading: true)
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
