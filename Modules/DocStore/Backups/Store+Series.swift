import CRDTCore
import Platform

extension Store {
  /// Adds the store's present state to a series of backups, while reads and writes continue.
  ///
  /// The first point of a series is a base with all pages. A later one has the pages that differ from the
  /// point before, so that its file is about as large as what was written meanwhile. A new base is begun for
  /// a store that has become another site, and for one with other pages. The point is there completely or not
  /// at all, even if power fails meanwhile; an unfinished file is ignored.
  ///
  /// The whole store is read and verified, as ``verify(progress:)`` does. A damaged store adds no point.
  /// - Parameters:
  ///   - path: The directory of the series; it is created with its parents if it does not exist.
  ///   - label: What the series belongs to, at most 255 bytes. Only a store with the same label adds to it.
  ///   - asBase: Whether to begin a new chain, after which older points can be pruned.
  ///   - carried: The names of small files in the store's directory to keep along, if they exist. Each may
  ///     have at most 1 MiB, and must be readable by its owner alone.
  ///   - progress: Called at intervals with the entries done. If it throws, the work ends and no point is
  ///     added.
  /// - Returns: The new point.
  /// - Throws: `corrupt` if the store or a file of the series is damaged; `notFound` if a file of the series
  ///   is missing; `argument` for another label; `exists` if the directory is a store; `alreadyOpen` while
  ///   another backup or a restore uses the series; `full`, `permission`, `io`, `closed`; what `progress`
  ///   throws.
  /// - Complexity: Reads the whole store, and takes eight bytes of memory a page, 2 MiB for 1 GiB.
  public func backup(
    toSeries path: String, label: String = "", asBase: Bool = false, carrying carried: [String] = [],
    progress: @escaping (MaintenanceProgress) throws -> Void = { _ in }
  ) throws -> BackupPoint {
    guard label.utf8.count <= BackupHeader.labelBytes else {
      throw StoreError(
        .argument, "A series' label has at most \(BackupHeader.labelBytes) bytes", operation: "backup")
    }
    let environment = try openEnvironment("backup")
    let series = try BackupSeries(making: path)
    return try series.locked {
      let files = try carried.compactMap { name in
        try DirectoryDraft.carriedBytes(name, in: directory).map {
          BackupHeader.Carried(name: name, bytes: $0)
        }
      }
      let known = asBase ? nil : try series.newest()
      // A new base may follow a file that is damaged.
      if let last = known?.last ?? (try? series.lastHeader()), !last.label.isSame(as: label) {
        throw StoreError(
          .argument, "The series \(path) is of \"\(last.label)\", and this backup of \"\(label)\"",
          operation: "backup")
      }
      // The two meta pages are written in turn. So a few commits between two steps here can overwrite the
      // snapshot's; then the next snapshot is tried.
      for _ in 0..<100 {
        let reader = try environment.beginRead(isExempt: true)
        defer { environment.recycle(reader) }
        guard
          let snapshot = BackupSnapshot(
            try environment.dataDescriptor(), transaction: reader.access.transactionNumber)
        else { continue }
        let log = try LogState(reader.access, environment.tables)
        let identity = try StoreIdentity(reader.access, environment.tables)
        let state = BackupState(
          snapshot: snapshot, log: log, site: identity.site, label: label, carried: files)
        return try add(state, to: series, after: known, progress)
      }
      throw StoreError(.io, "The store is written to so fast that no commit can be kept", operation: "backup")
    }
  }

  /// Writes the file of a point.
  private func add(
    _ state: BackupState, to series: BackupSeries, after known: BackupSeries.Known?,
    _ progress: @escaping (MaintenanceProgress) throws -> Void
  ) throws -> BackupPoint {
    let number = (try series.names().last?.number ?? 0) + 1
    var known = known
    if let last = known?.last, last.site != state.site || last.pageBytes != state.snapshot.file.pageBytes {
      known = nil
    }
    let key = known?.last.key ?? SipHash(first: options.random(), second: options.random())
    let header = BackupHeader(
      key: key, number: number, isBase: known == nil, previous: known?.sum ?? 0, time: options.now(),
      log: state.log, site: state.site, label: state.label, state.snapshot, carried: state.carried)
    let name = BackupSeries.Name(number: number, isBase: header.isBase).text
    let writer = try BackupWriter(name, in: series.held, header, known: known?.pages ?? [])
    do {
      var verification = Verification(
        state.snapshot.file,
        {
          try writer.check()
          try progress($0)
        }, receiver: writer)
      if let damage = try verification.run().damages.first {
        throw StoreError(
          .corrupt, "The store is damaged, so no point was added to \(series.held.name): \(damage)",
          operation: "backup")
      }
      try writer.complete(in: series.held, options)
    } catch {
      writer.discard()
      throw error
    }
    return try BackupFile(name, in: series.held).point(name)
  }

  /// The points of a series, in order.
  ///
  /// - Parameter path: The directory of the series.
  /// - Returns: The points; unfinished files are ignored.
  /// - Throws: `notFound` if there is no directory; `corrupt` with the file and the byte; `permission`, `io`.
  public static func backups(inSeries path: String) throws -> [BackupPoint] {
    try BackupSeries(path).points()
  }

  /// Reads all files of a series, and checks every checksum and that each file follows the one before it.
  ///
  /// - Parameters:
  ///   - path: The directory of the series.
  ///   - progress: Called at intervals with the pages done. If it throws, the work ends.
  /// - Returns: The points, all of which can be restored.
  /// - Throws: `corrupt` or `notFound` with the first file that is damaged or missing, and the byte;
  ///   `alreadyOpen`, `permission`, `io`; what `progress` throws.
  public static func verifyBackups(
    inSeries path: String, progress: @escaping (MaintenanceProgress) throws -> Void = { _ in }
  ) throws -> [BackupPoint] {
    let series = try BackupSeries(path)
    return try series.locked(for: .examining) {
      let points = try series.points()
      var meter = ProgressMeter(total: points.reduce(0) { $0 + $1.pageCount }, progress)
      for (index, point) in points.enumerated() {
        let isLast = index + 1 == points.count || points[index + 1].isBase
        guard isLast else { continue }
        _ = try series.chain(to: point.number) { file in
          try file.forEachBlock { block in
            _ = try file.pages(block)
            for _ in block.pages { try meter.advance() }
          }
        }
      }
      try meter.finish()
      return points
    }
  }

  /// Removes the points that no restore to a moment at or after a time needs.
  ///
  /// The newest base at or before the time stays, with all that follows it; so does the newest base in any
  /// case. Within a chain nothing can be removed, so begin a new base now and then.
  /// - Parameters:
  ///   - path: The directory of the series.
  ///   - time: Milliseconds since 1970.
  /// - Returns: The removed points.
  /// - Throws: `notFound`, `alreadyOpen`, `permission`, `io`; `corrupt` with a file whose header is damaged.
  @discardableResult
  public static func pruneBackups(inSeries path: String, before time: UInt64) throws -> [BackupPoint] {
    let series = try BackupSeries(path)
    return try series.locked {
      let points = try series.points()
      let kept = points.last { $0.isBase && $0.time <= time }?.number ?? 0
      var removed: [BackupPoint] = []
      // The newest first: should the work be interrupted, what is left of a chain can still be restored.
      for point in points.reversed() where point.number < kept {
        // SAFETY: the name is read during the call only.
        guard unsafe unlinkat(series.held.descriptor, point.file, 0) == 0 else {
          throw StoreError(engine: errno, "unlink", path: "\(path)/\(point.file)")
        }
        removed.append(point)
      }
      try series.held.sync()
      return removed.reversed()
    }
  }

  /// Puts the data of a point together, and passes it to `body` as the directory of a store.
  ///
  /// - Parameters:
  ///   - path: The directory of the series.
  ///   - moment: Which point.
  ///   - scratch: A path for the directory; the disk must have room for the store there. It is removed
  ///     afterwards.
  ///   - progress: Called at intervals with the pages done. If it throws, the work ends.
  ///   - body: Reads the directory. Its data is verified.
  /// - Returns: The point, and what `body` returns.
  /// - Throws: `corrupt` with the file and the byte; `notFound` for a missing point or file; `alreadyOpen`,
  ///   `full`, `permission`, `io`; what `progress` and `body` throw.
  package static func withBackup<R>(
    inSeries path: String, at moment: BackupMoment, scratch: String,
    progress: @escaping (MaintenanceProgress) throws -> Void = { _ in },
    _ body: (_ directory: String, _ carried: [String]) throws -> R
  ) throws -> (BackupPoint, R) {
    let series = try BackupSeries(path)
    return try series.locked(for: .examining) {
      let number = try series.number(moment)
      let (chain, _) = try series.chain(to: number) { try $0.forEachBlock { _ in } }
      guard let last = chain.last else {
        throw StoreError(.notFound, "The series \(path) has no point \(number)", operation: "restore")
      }
      let point = try last.point(BackupSeries.Name(number: number, isBase: last.header.isBase).text)
      var image = try BackupImage(at: scratch)
      defer { image.remove() }
      try image.write(chain, progress)
      if let damage = try verify(at: scratch).damages.first {
        throw StoreError(
          .corrupt, "The point \(number) of \(path) is damaged: \(damage)", operation: "restore")
      }
      return (point, try body(scratch, last.header.carried.map(\.name)))
    }
  }

  /// Restores a point of a series as a new store, which is a new site from its first open on.
  ///
  /// The store is there completely or not at all. It has the same contents as a backup that was made at the
  /// point.
  /// - Parameters:
  ///   - path: The directory of the series.
  ///   - moment: Which point.
  ///   - target: A directory that does not exist, or is empty; its parent must exist, and the disk must have
  ///     room for the store twice.
  ///   - progress: Called at intervals. If it throws, the work ends and there is no store.
  /// - Returns: The point.
  /// - Throws: `exists` if there is anything at the target; `corrupt` with the file and the byte; `notFound`
  ///   for a missing point or file; `alreadyOpen`, `full`, `permission`, `io`; what `progress` throws.
  public static func restore(
    fromSeries path: String, at moment: BackupMoment = .newest, to target: String,
    progress: @escaping (MaintenanceProgress) throws -> Void = { _ in }
  ) throws -> BackupPoint {
    guard DirectoryDraft.isFree(target) else {
      throw StoreError(.exists, "There is something at the path already: \(target)", operation: "restore")
    }
    return try withBackup(
      inSeries: path, at: moment, scratch: target + ".image", progress: progress
    ) { image, carried in
      try restore(
        from: image, to: target, keepingFormerAt: target + ".former", carrying: carried, progress: progress)
    }.0
  }
}

/// A commit of a store that becomes a point.
private struct BackupState {
  let snapshot: BackupSnapshot
  let log: LogState
  let site: SiteID
  let label: String
  let carried: [BackupHeader.Carried]
}
