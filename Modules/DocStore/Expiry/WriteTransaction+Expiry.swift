import CRDTCore
import Failpoints

extension WriteTransaction {
  // MARK: - On the way of writes

  /// Adds a document that was just stored to the expiry table, if it has something to forget.
  func noteExpiry(
    _ path: RawSpan, _ record: borrowing RecordView, sequence: UInt64, _ stored: StoredState,
    _ access: PageAccess
  ) throws(StoreError) {
    guard !stored.isForgettable, record.isForgettable else { return }
    let table = ExpiryTable(access: access, table: tables.expiry)
    guard try !table.contains(path) else { return }
    let mark = ExpiryEntry.Mark(sequence: sequence, latest: record.latest(sites))
    try table.add(path, mark, now: livedTime())
  }

  /// Removes the certificate of a document that has a record again.
  func removeCertificate(_ path: RawSpan, _ access: PageAccess) throws(StoreError) {
    try access.delete(tables.certificates, Certificate.key(path).rawBytes)
  }

  /// Removes a damaged certificate, so that its document can be written again.
  ///
  /// - Returns: `false` if there is none, or if it is intact.
  func removeDamagedCertificate(_ path: RawSpan, _ access: PageAccess) throws -> Bool {
    let key = Certificate.key(path)
    let sites = sites
    let isDamaged = try access.withValue(tables.certificates, key.rawBytes) { stored in
      Certificate(stored, at: key.rawBytes, sites) == nil
    }
    guard isDamaged == true else { return false }
    return try update { () throws(StoreError) in try access.delete(tables.certificates, key.rawBytes) }
  }

  /// Writes a certificate for a tombstone that is being evicted, or for a living document with a floor.
  ///
  /// A deletion concerns all peers, so no peer may bring the document back. A living document with a floor
  /// was deleted or erased before. Its certificate says: deleted at the floor. That is part of every later
  /// state, and what was erased stays hidden although the state is evicted.
  func certifyEvicted(_ path: RawSpan, at index: Int, _ access: PageAccess) throws {
    guard !StoreDefect.evictedDeletionForgotten.isPlanted else { return }
    let pages = DocumentPages(access: access, tables: tables)
    var death: (life: Stamp, floor: Stamp)?
    try withTables(of: index) { recordTables in
      _ = try pages.visitRow(path) { row in
        guard row.verify(for: path) else { return }
        if RecordView(row.record).isAlive {
          let floor = (try? RecordView(row.record).floor(sites: recordTables.sites)) ?? .zero
          if floor > .zero { death = (floor, floor) }
          return
        }
        // An unreadable tombstone leaves no certificate, like every damaged document.
        let outcome = try? DocumentCodec.collect(
          before: ClockReading(rawValue: .max), existing: StoredDocument(row.record, summary: row.summary),
          own: settings.site, tables: &recordTables)
        if case .certifiable(let certifiable)? = outcome { death = (certifiable.life, certifiable.floor) }
      }
    }
    guard let death else { return }
    StorePoint.deletionCertified.reached()
    try update { () throws(StoreError) in
      try putCertificate(at: Certificate.key(path), death.life, floor: death.floor)
    }
  }

  /// Writes a certificate under its key, as in a store with the same collections.
  func putCertificate(at key: [UInt8], _ life: Stamp, floor: Stamp) throws(StoreError) {
    let certificate = Certificate(life: life, floor: floor, since: livedTime())
    let value = withState { state in certificate.encode(&state.sites) }
    let access = try pagesToWrite("certify")
    try SmallRecord.put(value, at: key, in: tables.certificates, access)
  }

  // MARK: - Collection

  /// The result of one slice of a collection.
  struct CollectionSlice: Sendable {
    var forgotten = ExpiryStatistics.Forgotten()
    /// Whether there may be more to forget.
    var hasMore = false
  }

  /// The number of expiry entries read at a time.
  private static let batch = 64
  /// The number of log entries removed at a time.
  private static let logBatch = 512

  /// Forgets expired parts of documents and of the log until `isTimeUp`, but at least some.
  ///
  /// It is not a write: no sequence, no summary and nothing visible to readers changes.
  func collectExpired(
    _ lifetime: Duration?, _ collectors: [any SideCollector], until isTimeUp: () -> Bool
  ) throws -> CollectionSlice {
    let access = try pagesToWrite("collect")
    makesRoom = true
    try flushRows(access)
    keepsTime = true
    let now = livedTime()
    let horizon = Lifetimes.horizon(now, lifetime)
    let table = ExpiryTable(access: access, table: tables.expiry)
    var slice = CollectionSlice()
    let time = CollectionTime(now: now, horizon: horizon, isBehind: false)
    for collector in collectors { try collector.collect(in: self, at: time) }
    repeat {
      // The log first: as long as it contains a deletion, the tombstone must exist so that it can be sent.
      let trimmed = try trimLog(access, before: horizon, limit: Self.logBatch)
      slice.forgotten.logEntries += trimmed
      slice.hasMore = trimmed == Self.logBatch
      if slice.hasMore { continue }
      let entries = try table.due(before: horizon, limit: Self.batch)
      for (place, entry) in entries.enumerated() {
        if place > 0, isTimeUp() {
          slice.hasMore = true
          return slice
        }
        try forget(entry, table, now: now, &slice.forgotten)
      }
      slice.hasMore = entries.count == Self.batch
    } while slice.hasMore && !isTimeUp()
    return slice
  }

  /// Removes certificates by their keys, unless they have become younger than `horizon` meanwhile.
  func removeCertificates(_ keys: ArraySlice<[UInt8]>, before horizon: UInt64) throws -> Int {
    let access = try pagesToWrite("collect")
    makesRoom = true
    let sites = sites
    var count = 0
    for key in keys {
      let isOld = try access.withValue(tables.certificates, key.rawBytes) { stored in
        Certificate(stored, at: key.rawBytes, sites).map { $0.since < horizon } ?? false
      }
      guard isOld == true else { continue }
      let wasThere = try update { () throws(StoreError) in
        try access.delete(tables.certificates, key.rawBytes)
      }
      count += wasThere ? 1 : 0
    }
    return count
  }

  // MARK: - One document

  /// What happens to a document.
  private enum Fate {
    case keep(ExpiryEntry.Mark, isForgettable: Bool)
    case shrink(EncodedDocument, ExpiryEntry.Mark, DocumentNumber)
    case certify(CollectOutcome.Certifiable, DocumentNumber, writers: Int)
  }

  private func forget(
    _ entry: ExpiryEntry, _ table: ExpiryTable, now: UInt64, _ forgotten: inout ExpiryStatistics.Forgotten
  ) throws {
    let key = entry.path.rawBytes
    let number = DocumentPath.collection(of: key) ?? 0
    guard let index = withState({ state in state.collections.firstIndex { $0.id == number } }),
      let fate = try fate(of: entry, at: index)
    else { return try update { () throws(StoreError) in try table.remove(entry) } }
    try update { () throws(StoreError) in
      switch fate {
      case .keep(let mark, isForgettable: true): try table.renew(entry, mark, now: now)
      case .keep(_, isForgettable: false): try table.remove(entry)
      case .shrink(let document, let mark, let number):
        if isMarking { settings.siteMarks.mark(RecordView(document.record.rawBytes)) }
        let row = DocumentRow.Draft(sequence: mark.sequence, number: number, document: document)
        try pagesToWrite("collect").replace(row, key, at: cursor())
        if RecordView(document.record.rawBytes).isForgettable {
          try table.renew(entry, mark, now: now)
        } else {
          try table.remove(entry)
        }
        forgotten.shrunkDocuments += 1
      case .certify(let certifiable, let number, let writers):
        try pagesToWrite("collect").remove(number, key, tables)
        countRecord(-1, at: index)
        noteGone(writers: writers)
        try putCertificate(at: Certificate.key(key), certifiable.life, floor: certifiable.floor)
        try table.remove(entry)
        if certifiable.hasLaterWrites { report(key, at: index) }
        forgotten.tombstones += 1
      }
    }
  }

  /// Examines a document; `nil` if it no longer exists.
  private func fate(of entry: ExpiryEntry, at index: Int) throws -> Fate? {
    let pages = DocumentPages(access: try pagesToWrite("collect"), tables: tables)
    // A damaged document stays unchanged, so that it can be found and reported.
    var fate = Fate.keep(entry.mark, isForgettable: true)
    let lookup = try withTables(of: index) { recordTables in
      try pages.visitRow(entry.path.rawBytes) { row in
        guard row.verify(for: entry.path.rawBytes) else { return }
        if let known = self.fate(of: row, entry, &recordTables) { fate = known }
      }
    }
    return lookup == .unknown ? nil : fate
  }

  /// What happens to an intact row; `nil` if its record cannot be read.
  private func fate(
    of row: borrowing DocumentRow, _ entry: ExpiryEntry, _ recordTables: inout RecordTables
  ) -> Fate? {
    let view = RecordView(row.record)
    let mark = ExpiryEntry.Mark(sequence: row.sequence, latest: view.latest(recordTables.sites))
    // If the document is unchanged since the entry was made, all of it is as old as the entry, whatever its
    // stamps say. Otherwise a part whose stamp is later than all stamps at that time is younger. Some of the
    // rest may be younger too, which is harmless: the version vector then covers a removal earlier.
    let horizon =
      row.sequence == entry.mark.sequence ? ClockReading(rawValue: .max) : entry.mark.latest.next
    let outcome = try? DocumentCodec.collect(
      before: horizon, existing: StoredDocument(row.record, summary: row.summary), own: settings.site,
      tables: &recordTables)
    switch outcome {
    case .unchanged?: return .keep(mark, isForgettable: view.isForgettable)
    case .changed(let document)?:
      guard document.summary == row.summary else { return .keep(mark, isForgettable: true) }
      return .shrink(document, mark, row.number)
    case .certifiable(let certifiable)?: return .certify(certifiable, row.number, writers: view.writerCount)
    case nil: return nil
    }
  }

  private func report(_ key: RawSpan, at index: Int) {
    let (id, collection) = (DocumentPath.id(of: key), name(of: number(at: index)))
    settings.options.write(
      .warning,
      "What was written to the document \(DocumentID.digest(of: id)) of the collection \(collection) after its "
        + "deletion, unaware of it, is forgotten with its tombstone")
    guard let id = try? DocumentID(validating: id) else { return }
    settings.options.write(.debug, id.digestLine(in: collection))
  }
}

extension RecordView {
  /// The latest timestamp of the document's writers; zero if its vector cannot be read.
  fileprivate func latest(_ sites: SiteTable) -> ClockReading { (try? vector(sites: sites).latest) ?? .zero }
}
