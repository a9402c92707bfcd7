package import CRDTCore

extension WriteTransaction {
  /// How far peers' data was followed, by peer: so many are kept, and those not written for longest go.
  static let cursorLimit = 1_024
  /// Bytes of one.
  package static let cursorBytes = 256

  /// Keeps how far a peer's data was followed; the transaction is no commit for that.
  ///
  /// What the cursor stands for must be written by this transaction or an earlier one.
  package func setCursor(_ cursor: [UInt8], of peer: SiteID) throws {
    precondition(cursor.count <= Self.cursorBytes, "a cursor is too long")
    let access = try pagesToWrite("setCursor")
    var value = ByteWriter(capacity: cursor.count + 8)
    value.writeFixed(livedTime())
    value.write(cursor)
    keepsTime = true
    try update { () throws(StoreError) in
      try SmallRecord.put(value.bytes, at: PeerCursor.key(peer), in: tables.cursors, access)
      if try access.entryCount(tables.cursors) > Self.cursorLimit { try removeOldestCursor(access) }
    }
  }

  /// Forgets how far a peer's data was followed.
  package func removeCursor(of peer: SiteID) throws {
    let access = try pagesToWrite("removeCursor")
    _ = try update { () throws(StoreError) in
      try access.delete(tables.cursors, PeerCursor.key(peer).rawBytes)
    }
  }

  private func removeOldestCursor(_ access: PageAccess) throws(StoreError) {
    var oldest: (key: [UInt8], time: UInt64)?
    do {
      try access.scan(tables.cursors, from: [UInt8]().rawBytes) { key, stored in
        // A damaged one goes first.
        let time = PeerCursor(stored, at: key)?.time ?? 0
        if oldest.map({ time < $0.time }) ?? true { oldest = (key.copied, time) }
        return true
      }
    } catch {
      throw StoreError(.corrupt, "The cursors cannot be read: \(error)", operation: "setCursor")
    }
    if let oldest { try access.delete(tables.cursors, oldest.key.rawBytes) }
  }
}

extension ReadTransaction {
  /// How far a peer's data was followed, as it was last kept; `nil` when it is not known, or damaged.
  package borrowing func cursor(of peer: SiteID) throws -> [UInt8]? {
    let pages = try pages
    let key = PeerCursor.key(peer)
    let found = try pages.access.withValue(pages.tables.cursors, key.rawBytes) { stored in
      PeerCursor(stored, at: key.rawBytes)?.bytes
    }
    return found ?? nil
  }
}

/// An entry of the table of cursors: when it was written, and what it says to whoever wrote it.
struct PeerCursor {
  let time: UInt64
  let bytes: [UInt8]

  static func key(_ peer: SiteID) -> [UInt8] {
    var key = ByteWriter(capacity: 16)
    key.write(peer)
    return key.bytes
  }

  /// Reads a stored entry; `nil` when it is damaged.
  init?(_ stored: RawSpan, at key: RawSpan) {
    guard let value = try? SmallRecord.open(stored, at: key, table: "cursors"), value.count >= 8 else {
      return nil
    }
    var reader = ByteReader(value.rawBytes)
    guard let time: UInt64 = try? reader.readFixed() else { return nil }
    self.time = time
    bytes = Array(value[8...])
  }
}
