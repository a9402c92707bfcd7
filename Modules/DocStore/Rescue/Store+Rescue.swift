extension Store {
  /// Takes all that can be read out of a damaged store, which need not open, into a new one.
  ///
  /// Every record whose checks hold is taken, also from pages that are damaged themselves, or to which a damaged
  /// page should have led; so are deletions and the definitions of indexes, which are built anew. The new store
  /// is a site of its own and is there whole or not at all. The old one is not changed.
  /// - Parameters:
  ///   - path: The damaged store's directory.
  ///   - target: A directory that does not exist, or is empty; its parent must exist.
  ///   - carried: The names of small files of the directory that go along, as with a backup.
  ///   - options: For the new store, while it is filled.
  ///   - progress: Hears of documents now and then; what it throws ends the work, and there is no new store.
  /// - Returns: What was rescued, and what is damaged.
  /// - Throws: `notFound`, `alreadyOpen`, `permission`, `io`; `exists` when there is anything at the target; `full`;
  ///   `corrupt` when the file does not even say where its tables are; what `progress` throws.
  public static func rescue(
    from path: String, to target: String, carrying carried: [String] = [], options: StoreOptions = .init(),
    progress: @escaping (MaintenanceProgress) throws -> Void = { _ in }
  ) throws -> RescueReport {
    let files = StoreFiles(in: try HeldDirectory(path))
    let descriptor = try files.openData()
    defer { StoreFiles.close(descriptor) }
    let lock = try StoreLock(files.held, isReading: true)
    return try withExtendedLifetime(lock) {
      var found: [PageDamage] = []
      guard let file = PageFile(descriptor, damaged: { found.append($0) }) else {
        throw StoreError(.corrupt, "The file does not say where its tables are", operation: "rescue")
      }
      let draft = try DirectoryDraft(of: target, carrying: carried, operation: "rescue")
      do {
        // Whoever works there now has the lock; what an interrupted attempt left is of no use.
        try withExtendedLifetime(StoreLock(draft.files.held)) { draft.clear() }
        let report = try fill(draft.draft, from: file, found, options, progress)
        try draft.carry(from: files.held)
        try draft.complete(options)
        return report
      } catch {
        if (error as? StoreError)?.code != .alreadyOpen { draft.discard() }
        throw error
      }
    }
  }

  private static func fill(
    _ path: String, from file: PageFile, _ found: [PageDamage], _ options: StoreOptions,
    _ progress: @escaping (MaintenanceProgress) throws -> Void
  ) throws -> RescueReport {
    let store = try Store.open(at: path, options: options)
    defer { store.close() }
    var rescue = try Rescue(file, found, into: store, progress)
    return try rescue.run()
  }
}
