public import CRDTCore

extension WriteTransaction {
  /// What stood under a document's key.
  struct Standing {
    var isAlive = false
    var isKnown = false
    /// Whether it is entered among what is forgotten in time.
    var isForgettable = false
    /// Whether a death certificate is all that is known.
    var isCertified = false
    /// Copied only for those who listen to commits.
    var record: Record?
    var summary: Summary?
  }

  /// Changes one document: reads it in place, has `edit` make the new record, and stores that.
  ///
  /// - Returns: `false` when `edit` made none.
  @discardableResult
  func change(
    _ id: DocumentID, in collection: String, as intent: ChangeList.Intent, _ operation: String,
    _ edit: (StoredDocument?, inout RecordTables) throws -> EncodedDocument?
  ) throws -> Bool {
    let access = try pagesToWrite(operation)
    try CollectionName.check(collection, operation: operation)
    let isNew = index(of: collection) == nil
    let index = intern(collection)
    var isStored = false
    // A collection comes into being with its first document, not with a write that came to nothing.
    defer { if isNew, !isStored { forgetLastCollection() } }
    let key = DocumentKey(collection: number(at: index), id: id)
    let touch = changes.touch(of: key)
    if let touch, touch.conflicts(with: intent) {
      throw doomed(
        by: StoreError(
          .removedInTransaction, "One transaction cannot both remove and upsert a document",
          operation: operation))
    }
    var standing = Standing()
    let maintainer = maintainer(at: index)
    let document: EncodedDocument?
    do {
      document = try withTables(of: index) { tables in
        let found = try DocumentPages(access: access, tables: self.tables)
          .withRecord(key.collection, named: collection, id) { record, envelope in
            standing = Standing(of: record, envelope, copy: isCapturing)
            try maintainer?.readOld(standing.isAlive ? record : nil, key.id, tables.keys)
            return try edit(StoredDocument(record, summary: envelope.summary), &tables)
          }
        if found == nil { try maintainer?.readOld(nil, key.id, tables.keys) }
        let document = if let found { found } else { try change(key, &standing, &tables, edit) }
        if let document {
          try maintainer?.readNew(document.isAlive ? document.record.rawBytes : nil, key.id, tables.keys)
        }
        return document
      }
    } catch let error as DocumentError {
      throw StoreError(error, operation: operation)
    }
    guard let document else { return false }
    isStored = true
    try store(document, under: key, in: collection, at: index, (intent, touch), standing, maintainer)
    return true
  }

  /// Has `edit` make a record where none is: over the certificate, should there be one.
  private func change(
    _ key: DocumentKey, _ standing: inout Standing, _ recordTables: inout RecordTables,
    _ edit: (StoredDocument?, inout RecordTables) throws -> EncodedDocument?
  ) throws -> EncodedDocument? {
    let pages = try pages()
    let certificate = try DocumentPath.withKey(key.collection, key.id.bytes.rawBytes) { path in
      try pages.certificate(path, recordTables.sites)
    }
    guard let certificate else { return try edit(nil, &recordTables) }
    standing.isCertified = true
    let tombstone = DocumentCodec.tombstone(of: certificate.life, tables: &recordTables)
    return try edit(
      StoredDocument(tombstone.record.rawBytes, summary: tombstone.summary), &recordTables)
  }

  private func store(
    _ document: EncodedDocument, under key: DocumentKey, in collection: String, at index: Int,
    _ step: (intent: ChangeList.Intent, touch: ChangeList.Touch?), _ standing: Standing,
    _ maintainer: IndexMaintainer?
  ) throws {
    let access = try pagesToWrite("put")
    let record = Record(bytes: document.record)
    guard record.bytes.count <= Limits.recordBytes else {
      throw StoreError(
        DocumentError(.size, "a document takes more than \(Limits.recordBytes) bytes"), operation: "put")
    }
    let sequence = drawSequence()
    try DocumentPath.withKey(key.collection, key.id.bytes.rawBytes) { path in
      let envelope = Envelope(sequence: sequence, summary: document.summary, key: path)
      try update { () throws(StoreError) in
        try unsafe access.put(tables.documents, path, byteCount: Envelope.byteCount + record.bytes.count) {
          room in
          unsafe envelope.write(to: room)
          unsafe UnsafeMutableRawBufferPointer(rebasing: room[Envelope.byteCount...]).copyBytes(
            from: record.bytes)
        }
        try record.withView { view throws(StoreError) in
          try noteExpiry(path, view, sequence: sequence, standing, access)
        }
        if standing.isCertified { try removeCertificate(path, access) }
      }
    }
    try note(maintainer, access)
    if !standing.isKnown { countRecord(1, at: index) }
    count(document.isAlive, since: standing.isAlive, at: index)
    let isOversize = try weigh(document.isAlive ? record : nil, key, collection, index)
    changes.note(
      ChangeDraft(
        key: key, group: changes.currentGroup, sequence: sequence, kind: .write, before: standing.record,
        beforeSummary: standing.summary, after: isCapturing ? record : nil, afterSummary: document.summary,
        isOversize: isOversize),
      step.intent, after: step.touch)
  }

  /// Removes a document from this store alone; peers keep theirs.
  ///
  /// It leaves with all that is known of it, so it comes back if a subscription matches it.
  /// - Returns: `false` when the document is unknown here.
  @discardableResult
  public func evict(_ id: DocumentID, in collection: String) throws -> Bool {
    let access = try pagesToWrite("evict")
    guard let index = index(of: collection) else { return false }
    let key = DocumentKey(collection: number(at: index), id: id)
    let path = DocumentPath.key(key.collection, id.bytes)
    // A damaged record can be evicted: that is how it is got rid of, and fetched anew.
    let standing = try access.withValue(tables.documents, path.rawBytes) { stored in
      guard let envelope = Envelope(stored) else { return Standing(isKnown: true) }
      return Standing(
        of: stored.extracting(Envelope.byteCount..<stored.byteCount), envelope, copy: isCapturing)
    }
    guard let standing else { return false }
    try removeRows(of: key, path.rawBytes, at: index, access)
    try update { () throws(StoreError) in
      try access.delete(tables.documents, path.rawBytes)
      if oversizeCount > 0, try access.delete(tables.oversize, path.rawBytes) { oversizeCount -= 1 }
    }
    forgetSize(of: key)
    countRecord(-1, at: index)
    count(false, since: standing.isAlive, at: index)
    didEvict = true
    changes.note(
      ChangeDraft(
        key: key, group: changes.currentGroup, sequence: drawSequence(), kind: .evict,
        before: standing.record,
        beforeSummary: standing.summary),
      .other, after: changes.touch(of: key))
    return true
  }

  /// Compares a living document's size with the limits and keeps the list of those never sent.
  ///
  /// A removed one has no size: that it is removed must travel, whatever it held.
  /// - Returns: Whether the document is above the hard limit.
  private func weigh(_ record: Record?, _ key: DocumentKey, _ collection: String, _ index: Int) throws -> Bool
  {
    let limits = settings.sizes.current
    let byteCount = try record.map { try canonicalBytes($0, index, limits) } ?? 0
    let sizeClass = SizeClass(byteCount, limits)
    let isOversize = sizeClass == .hard
    if !sizes.isEmpty { forgetSize(of: key) }
    if let sizeClass {
      let document = OversizeDocument(collection: collection, id: key.id, byteCount: byteCount)
      sizes.append(SizeFinding(key: key, document: document, sizeClass: sizeClass))
    }
    guard isOversize || oversizeCount > 0 else { return false }
    let access = try pagesToWrite("put")
    let path = DocumentPath.key(key.collection, key.id.bytes)
    try update { () throws(StoreError) in
      if try access.delete(tables.oversize, path.rawBytes) { oversizeCount -= 1 }
      guard isOversize else { return }
      var value = ByteWriter(capacity: 8)
      value.writeFixed(UInt64(byteCount))
      try SmallRecord.put(value.bytes, at: path, in: tables.oversize, access)
      oversizeCount += 1
    }
    return isOversize
  }

  /// A document's canonical size; for one far below the limits its record's, which is about the same.
  private func canonicalBytes(_ record: Record, _ index: Int, _ limits: SizeLimits.Values) throws -> Int {
    guard record.bytes.count > min(limits.soft, limits.hard) / 4 else { return record.bytes.count }
    return try withTables(of: index) { tables in
      var out = ByteWriter(capacity: record.bytes.count)
      try record.withView { (view) throws(CodecError) in
        try WireDocument.append(view, lacking: VersionVector(), tables: tables, to: &out)
      }
      return out.count
    }
  }

  private func forgetSize(of key: DocumentKey) {
    for index in sizes.indices where sizes[index].key == key { sizes[index].isStored = false }
  }
}

extension WriteTransaction.Standing {
  init(of record: RawSpan, _ envelope: Envelope, copy: Bool) {
    isAlive = RecordView(record).isAlive
    isKnown = true
    isForgettable = RecordView(record).isForgettable
    self.record = copy ? Record(copying: record) : nil
    summary = copy ? envelope.summary : nil
  }
}
