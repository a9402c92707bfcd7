extension Store {
  /// Copies all that can be read from a damaged store, which need not open, into a new store.
  ///
  /// Every record that passes its checks is copied, also from pages that are damaged or that only damaged
  /// pages refer to. So are deletions, and the definitions of indexes, which are built again. The new store
  /// is a site of its own, and is created completely or not at all. The old one is not changed.
  /// - Parameters:
  ///   - path: The damaged store's directory.
  ///   - target: A directory that does not exist, or is empty; its parent must exist.
  ///   - carried: The names of small files of the directory that are copied as well, as with a backup.
  ///   - options: Options for the new store while it is filled.
  ///   - progress: Is called now and then with the number of documents; an error that it throws ends the
  ///     work, and no new store is created.
  /// - Returns: What was rescued, and what is damaged.
  /// - Throws: `notFound`, `alreadyOpen`, `permission`, `io`; `exists` when there is anything at the target;
  ///   `full`; `corrupt` when the file does not even say where its tables are; what `progress` throws.
  public static func rescue(
    from path: String, to target: String, carrying carried: [String] = [], options: StoreOptions = .init(),
    progress: @escaping (MaintenanceProgress) throws -> Void = { _ in }
  ) throws -> RescueReport {
    let files = StoreFiles(in: try HeldDirectory(path))
    let descriptor = try files.openData()
    defer { StoreFiles.close(descriptor) }
    let lock = try StoreLock(files.held, for: .examining)
    return try withExtendedLifetime(lock) {
      var found: [PageDamage] = []
      guard let file = PageFile(descriptor, damaged: { found.append($0) }) else {
        throw StoreError(.corrupt, "The file does not say where its tables are", operation: "rescue")
      }
      let draft = try DirectoryDraft(of: target, carrying: carried, operation: "rescue")
      do {
        // Another process that works there holds the lock; the remains of an interrupted attempt are useless.
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
