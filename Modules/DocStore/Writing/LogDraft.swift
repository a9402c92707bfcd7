package import CRDTCore

/// What a running transaction must still write to the log.
struct LogDraft {
  /// Documents that were written one by one since the last entry.
  var loose: [DocumentPlace] = []
  /// The sequence of the last of these documents.
  var looseSequence: UInt64 = 0
  private(set) var evicted: [DocumentKey] = []
  private var evictedBytes = 0
  private(set) var isEvictionComplete = true

  /// Beyond these limits, an entry only says that there were more.
  static let evictedLimit = 4_096
  static let evictedByteLimit = 128 << 10
  /// How many documents that were written one by one make an entry.
  static let looseLimit = 65_536

  mutating func noteEviction(of key: DocumentKey) {
    evictedBytes += key.id.bytes.count + 8
    guard evicted.count < Self.evictedLimit, evictedBytes <= Self.evictedByteLimit else {
      isEvictionComplete = false
      return
    }
    evicted.append(key)
  }
}

extension WriteTransaction {
  /// Sets the peer that sent the transaction's documents, for the log.
  package func noteSender(_ site: SiteID) { logOrigin = LogOrigin(peer: site) }

  /// Writes a log entry for the group that ends.
  func logGroup(_ changes: ArraySlice<Change>, sequence: UInt64, _ access: PageAccess) throws(StoreError) {
    guard changes.count > 1 else {
      guard let change = changes.first, change.kind == .write else { return }
      return try logLoose(DocumentPlace(change.key.collection, change.number), sequence, access)
    }
    var places: [DocumentPlace] = []
    places.reserveCapacity(changes.count)
    for change in changes where change.kind == .write {
      places.append(DocumentPlace(change.key.collection, change.number))
    }
    guard places.count > 1 else {
      if let place = places.first { try logLoose(place, sequence, access) }
      return
    }
    try flushLoose(access)
    try putLog(.bound, sequence, LogRecord.encode(logHead(), runs: LogRun.runs(of: places)), access)
  }

  private func logLoose(_ place: DocumentPlace, _ sequence: UInt64, _ access: PageAccess) throws(StoreError) {
    log.loose.append(place)
    log.looseSequence = sequence
    if log.loose.count >= LogDraft.looseLimit { try flushLoose(access) }
  }

  private func flushLoose(_ access: PageAccess) throws(StoreError) {
    guard !log.loose.isEmpty else { return }
    let runs = LogRun.runs(of: log.loose)
    log.loose.removeAll(keepingCapacity: true)
    try putLog(.loose, log.looseSequence, LogRecord.encode(logHead(), runs: runs), access)
  }

  /// Writes the remaining entries at the end of the transaction.
  ///
  /// If the log has too many entries, it removes the oldest ones.
  func finishLog(through sequence: UInt64, _ access: PageAccess) throws(StoreError) {
    try flushLoose(access)
    if didEvict {
      let record = LogRecord.encode(
        logHead(), evicted: log.evicted, isComplete: log.isEvictionComplete)
      try putLog(.evicted, sequence, record, access)
    }
    _ = livedTime()
    let excess = try access.entryCount(tables.log) - logLimit
    if excess > 0 { _ = try trimLog(access, limit: excess + 16) }
  }

  private func logHead() -> LogHead {
    LogHead(
      time: logTime(), commitCheck: UInt32(truncatingIfNeeded: commitID()), origin: logOrigin,
      lastNumber: lastNumber)
  }

  private func putLog(
    _ kind: LogKind, _ sequence: UInt64, _ record: [UInt8], _ access: PageAccess
  ) throws(StoreError) {
    try update { () throws(StoreError) in
      try SmallRecord.append(record, at: LogKey(sequence, kind).bytes, in: tables.log, access)
    }
  }

  /// Removes the oldest entries of the log, but only entries older than `horizon`.
  ///
  /// A damaged entry is removed together with the first old entry behind it, because entries are in the order
  /// of time.
  /// - Returns: How many were removed, at most `limit`.
  func trimLog(_ access: PageAccess, before horizon: UInt64 = .max, limit: Int) throws(StoreError) -> Int {
    var old: [[UInt8]] = []
    var ageless: [[UInt8]] = []
    do {
      try access.scan(tables.log, from: [UInt8]().rawBytes) { key, stored in
        let time = LogRecord.head(stored, at: key)?.time
        guard old.count < limit, (time ?? 0) < horizon else { return false }
        ageless.append(key.copied)
        if time != nil {
          old += ageless
          ageless = []
        }
        return true
      }
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(.corrupt, "The log cannot be read: \(error)", operation: "trim")
    }
    guard let last = old.last else { return 0 }
    try update { () throws(StoreError) in
      for key in old { try access.delete(tables.log, key.rawBytes) }
    }
    if let sequence = LogKey(last.rawBytes)?.sequence { logStart = max(logStart, sequence) }
    return min(old.count, limit)
  }
}
