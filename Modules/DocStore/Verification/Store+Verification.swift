public import CRDTCore

extension Store {
  /// Reads the whole store as it is now and reports everything that is damaged; nothing is changed.
  ///
  /// It checks every page of the file, every checksum, every record with its fields, every count and every
  /// index. It continues after damage, so the report is complete: what it does not list can be read. Reads
  /// and writes continue meanwhile.
  /// - Parameter progress: Is called now and then with the number of entries; an error that it throws ends
  ///   the work.
  /// - Returns: What is damaged, and how much was read.
  /// - Throws: `closed`, `tooManyReaders`, `io`; what `progress` throws. Damage is not thrown.
  public func verify(
    progress: @escaping (MaintenanceProgress) throws -> Void = { _ in }
  ) throws -> VerificationReport {
    let environment = try openEnvironment("verify")
    let place = SourcePlace(file: #fileID, line: #line)
    // The two meta pages are written in turn. So a few commits between two steps here can overwrite the
    // snapshot's; then the next snapshot is tried.
    for _ in 0..<100 {
      let transaction = try ReadTransaction(environment, at: place, isExempt: true)
      guard
        let file = PageFile(
          try environment.dataDescriptor(), transaction: transaction.number, damaged: { _ in })
      else {
        continue
      }
      var verification = Verification(file, progress)
      var report = try verification.run()
      try Verification.compare(transaction, &report)
      return report
    }
    var report = VerificationReport()
    report.note(.page, "The pages that say where everything is are damaged")
    return report
  }

  /// Reads the store at `path` without opening it, for a store that is too damaged to be opened.
  ///
  /// Indexes are compared with their documents if all pages and the store's own tables are intact. The store
  /// keeps its site, even if it was copied.
  /// - Parameters:
  ///   - path: The store's directory.
  ///   - progress: Is called now and then with the number of entries; an error that it throws ends the work.
  /// - Returns: What is damaged, and how much was read.
  /// - Throws: `notFound`, `alreadyOpen`, `permission`, `io`; what `progress` throws.
  public static func verify(
    at path: String, progress: @escaping (MaintenanceProgress) throws -> Void = { _ in }
  ) throws -> VerificationReport {
    let files = StoreFiles(in: try HeldDirectory(path))
    let descriptor = try files.openData()
    defer { StoreFiles.close(descriptor) }
    let lock = try StoreLock(files.held, for: .examining)
    return try withExtendedLifetime(lock) {
      var found: [PageDamage] = []
      guard let file = PageFile(descriptor, damaged: { found.append($0) }) else {
        var report = VerificationReport()
        report.note(.page, "The pages that say where everything is are damaged, or the file is not a store")
        return report
      }
      var verification = Verification(file, progress, found: found)
      var report = try verification.run()
      guard !report.damages.contains(where: { $0.kind == .page || $0.kind == .entry }) else { return report }
      // These pages are safe for the engine; nothing is written.
      let environment = try Environment(files.data, lock: lock, options: StoreOptions())
      let reader = try environment.beginRead()
      defer { environment.recycle(reader) }
      let archive = SiteArchive(environment)
      environment.publish(Catalogue(try StoreState(reader.access, environment.tables, archive)))
      let transaction = try ReadTransaction(environment, at: .store, isExempt: true)
      try Verification.compare(transaction, &report)
      return report
    }
  }

  /// A document's bytes as they are in the file, intact or damaged.
  ///
  /// Use it to examine or keep them before an eviction removes them.
  ///
  /// - Returns: The row under the document's number as described in `FileFormat.md`; `nil` if there is none.
  /// - Throws: `closed`, `tooManyReaders`, `io`.
  public func rawBytes(of id: DocumentID, in collection: String) throws -> [UInt8]? {
    try read { transaction in
      guard let collection = try transaction.collection(collection) else { return nil }
      let pages = try transaction.pages
      guard let number = try pages.number(at: DocumentPath.key(collection.id, id.bytes).rawBytes) else {
        return nil
      }
      return try DocumentPlace(collection.id, number).withKey { (key) throws(any Error) in
        try pages.access.withValue(pages.tables.documents, key) { $0.copied }
      }
    }
  }
}
