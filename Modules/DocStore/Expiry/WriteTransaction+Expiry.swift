import CRDTCore

extension WriteTransaction {
  /// How much of each kind is looked at before the clock is.
  private static let batch = 64

  // MARK: - On the way of writes

  /// Enters a document that was just stored among those that have something to forget.
  func noteExpiry(
    _ path: RawSpan, _ record: borrowing RecordView, sequence: UInt64, _ standing: Standing,
    _ access: PageAccess
  ) throws(StoreError) {
    guard !standing.isForgettable, record.isForgettable else { return }
    try ExpiryTable(access: access, table: tables.expiry)
      .add(path, sequence: sequence, now: settings.options.now())
  }

  /// Removes the certificate of a document that has a record again.
  func removeCertificate(_ path: RawSpan, _ access: PageAccess) throws(StoreError) {
    try access.delete(tables.certificates, Certificate.key(path).rawBytes)
  }

  // MARK: - Collection

  /// Forgets what documents and groups have had their time, until `isTimeUp`.
  ///
  /// It is no write: no sequence, no summary and nothing that readers see changes.
  /// - Returns: Whether there may be more.
  func collectExpired(now: UInt64, _ lifetimes: Lifetimes, until isTimeUp: () -> Bool) throws -> Bool {
    let access = try pagesToWrite("collect")
    try flushRows(access)
    let horizon = Lifetimes.horizon(now, lifetimes.tombstone)
    let table = ExpiryTable(access: access, table: tables.expiry)
    repeat {
      let entries = try table.due(before: horizon, now: now, limit: Self.batch)
      for entry in entries { try forget(entry, table, now: now, horizon: horizon) }
      let groups = try collectGroups(access, now: now, horizon: horizon)
      if entries.count < Self.batch, groups < Self.batch { return false }
    } while !isTimeUp()
    return true
  }

  /// What is to become of a document.
  private enum Fate {
    case keep(sequence: UInt64, isForgettable: Bool)
    case shrink(EncodedDocument, sequence: UInt64)
    case certify(CollectOutcome.Certifiable)
  }

  private func forget(_ entry: ExpiryEntry, _ table: ExpiryTable, now: UInt64, horizon: UInt64) throws {
    if entry.since > now {
      // The clock was ahead when this was entered.
      return try update { () throws(StoreError) in
        try table.renew(entry, sequence: entry.sequence, now: now)
      }
    }
    let key = entry.path.rawBytes
    let number = DocumentPath.collection(of: key) ?? 0
    guard let index = withState({ state in state.collections.firstIndex { $0.id == number } }),
      let fate = try fate(of: entry, at: index, horizon: horizon)
    else { return try update { () throws(StoreError) in try table.remove(entry) } }
    try update { () throws(StoreError) in
      switch fate {
      case .keep(let sequence, isForgettable: true):
        try table.renew(entry, sequence: sequence, now: now)
      case .keep(_, isForgettable: false): try table.remove(entry)
      case .shrink(let document, let sequence):
        try put(document, sequence: sequence, at: key)
        if RecordView(document.record.rawBytes).isForgettable {
          try table.renew(entry, sequence: sequence, now: now)
        } else {
          try table.remove(entry)
        }
      case .certify(let certificate):
        try certify(key, certificate, at: index, now: now)
        try table.remove(entry)
      }
    }
  }

  /// Looks at a document; `nil` when there is none any more.
  private func fate(of entry: ExpiryEntry, at index: Int, horizon: UInt64) throws -> Fate? {
    let access = try pagesToWrite("collect")
    return try withTables(of: index) { recordTables in
      try access.withValue(tables.documents, entry.path.rawBytes) { stored -> Fate in
        guard let envelope = Envelope(stored), envelope.isIntact(for: entry.path.rawBytes) else {
          return .keep(sequence: entry.sequence, isForgettable: true)
        }
        let record = stored.extracting(Envelope.byteCount..<stored.byteCount)
        // A damaged record stays as it is, to be found and reported.
        guard RecordView(record).verify() else { return .keep(sequence: entry.sequence, isForgettable: true) }
        // Unchanged since it was entered, all of it is old by the time of its arrival, whatever its stamps
        // say. Otherwise only what is old by its stamp is surely old.
        let reading =
          envelope.sequence == entry.sequence
          ? ClockReading(rawValue: .max) : ClockReading(milliseconds: horizon)
        let outcome: CollectOutcome
        do {
          outcome = try DocumentCodec.collect(
            before: reading, existing: StoredDocument(record, summary: envelope.summary), own: settings.site,
            tables: &recordTables)
        } catch {
          return .keep(sequence: entry.sequence, isForgettable: true)
        }
        switch outcome {
        case .unchanged:
          return .keep(sequence: envelope.sequence, isForgettable: RecordView(record).isForgettable)
        case .changed(let document):
          guard document.summary == envelope.summary else {
            return .keep(sequence: envelope.sequence, isForgettable: true)
          }
          return .shrink(document, sequence: envelope.sequence)
        case .certifiable(let certificate): return .certify(certificate)
        }
      }
    }
  }

  private func put(_ document: EncodedDocument, sequence: UInt64, at key: RawSpan) throws(StoreError) {
    let access = try pagesToWrite("collect")
    let envelope = Envelope(sequence: sequence, summary: document.summary, key: key)
    try unsafe access.put(tables.documents, key, byteCount: Envelope.byteCount + document.record.count) {
      room in
      unsafe envelope.write(to: room)
      unsafe UnsafeMutableRawBufferPointer(rebasing: room[Envelope.byteCount...]).copyBytes(
        from: document.record)
    }
  }

  /// Lets a certificate take a tombstone's place.
  private func certify(
    _ key: RawSpan, _ certifiable: CollectOutcome.Certifiable, at index: Int, now: UInt64
  ) throws(StoreError) {
    let access = try pagesToWrite("collect")
    try access.delete(tables.documents, key)
    countRecord(-1, at: index)
    let value = withState { state in
      Certificate(life: certifiable.life, since: now).encode(&state.sites)
    }
    try SmallRecord.put(value, at: Certificate.key(key), in: tables.certificates, access)
    guard certifiable.hasLaterWrites else { return }
    let id = key.extracting(DocumentPath.prefixBytes..<key.byteCount)
    settings.options.write(
      .warning,
      "What was written to the document \(DocumentPages.digits(id)) of the collection "
        + "\(name(of: number(at: index))) after its deletion, unaware of it, is forgotten with its tombstone")
  }

  /// Removes the oldest records of groups.
  ///
  /// - Returns: How many were looked at.
  private func collectGroups(_ access: PageAccess, now: UInt64, horizon: UInt64) throws -> Int {
    var old: [[UInt8]] = []
    var ahead: [(key: [UInt8], record: [UInt8])] = []
    try access.scan(tables.groups, from: [UInt8]().rawBytes) { key, stored in
      let value = try SmallRecord.open(stored, at: key, table: "groups")
      let group = try GroupRecord(value.rawBytes)
      guard group.time < horizon || group.time > now else { return false }
      let key = unsafe key.withUnsafeBytes { unsafe Array($0) }
      if group.time > now { ahead.append((key, value)) } else { old.append(key) }
      return old.count + ahead.count < Self.batch
    }
    try update { () throws(StoreError) in
      for key in old { try access.delete(tables.groups, key.rawBytes) }
      // The clock was ahead when these were written: their time begins now.
      for (key, record) in ahead {
        try SmallRecord.put(GroupRecord.renew(record, at: now), at: key, in: tables.groups, access)
      }
    }
    return old.count + ahead.count
  }

  /// Removes certificates that have had their time, from `start` on, until `isTimeUp`.
  ///
  /// - Returns: Where to go on; `nil` at the end of the table.
  func collectCertificates(
    from start: [UInt8], now: UInt64, horizon: UInt64, until isTimeUp: () -> Bool
  ) throws -> [UInt8]? {
    let access = try pagesToWrite("collect")
    var next: [UInt8]? = start
    while let from = next {
      next = nil
      var seen = 0
      var old: [[UInt8]] = []
      try access.scan(tables.certificates, from: from.rawBytes) { key, stored in
        let bytes = unsafe key.withUnsafeBytes { unsafe Array($0) }
        guard seen < 8 * Self.batch else {
          next = bytes
          return false
        }
        seen += 1
        let value = try SmallRecord.open(stored, at: key, table: "certificates")
        let certificate = try withState { state in
          var reader = ByteReader(value.rawBytes)
          return try Certificate(&reader, state.sites)
        }
        if certificate.since < horizon { old.append(bytes) }
        return true
      }
      try update { () throws(StoreError) in
        for key in old { try access.delete(tables.certificates, key.rawBytes) }
      }
      if isTimeUp() { break }
    }
    return next
  }
}
