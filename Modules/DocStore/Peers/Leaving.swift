package import CRDTCore

/// A note on a document that has left, or is to leave, all that this store subscribes to.
package struct LeavingNote: Hashable, Sendable {
  package let id: DocumentID
  package let collection: Collection
  /// The lived time at which the note was written, in milliseconds.
  package let time: UInt64
  /// What it says to whoever wrote it.
  package let bytes: [UInt8]

  package static func == (a: LeavingNote, b: LeavingNote) -> Bool {
    a.id == b.id && a.collection.id == b.collection.id && a.bytes == b.bytes && a.time == b.time
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(collection.id)
  }
}

extension WriteTransaction {
  /// Bytes of one note.
  package static let leavingNoteBytes = 4_096
  /// So many notes are kept.
  static let leavingLimit = 65_536

  /// Keeps a note on a document; the transaction is no commit for that.
  ///
  /// Where there are too many, the older half is forgotten.
  ///
  /// - Returns: `false`, with nothing kept, when the collection is unknown here.
  package func setLeavingNote(_ note: [UInt8], for id: DocumentID, in collection: String) throws -> Bool {
    precondition(note.count <= Self.leavingNoteBytes, "a note is too long")
    let access = try pagesToWrite("setLeavingNote")
    guard let index = index(of: collection) else { return false }
    let path = DocumentPath.key(number(at: index), id.bytes)
    if try access.entryCount(tables.leaving) >= Self.leavingLimit,
      try !access.contains(tables.leaving, path.rawBytes)
    {
      try forgetOlderNotes(access)
    }
    var value = ByteWriter(capacity: note.count + 8)
    value.writeFixed(livedTime())
    value.write(note)
    keepsTime = true
    try update { () throws(StoreError) in
      try SmallRecord.put(value.bytes, at: path, in: tables.leaving, access)
    }
    return true
  }

  /// Removes the note on a document.
  ///
  /// - Returns: `false` when there was none.
  @discardableResult
  package func removeLeavingNote(for id: DocumentID, in collection: String) throws -> Bool {
    let access = try pagesToWrite("removeLeavingNote")
    guard let index = index(of: collection) else { return false }
    let path = DocumentPath.key(number(at: index), id.bytes)
    return try update { () throws(StoreError) in try access.delete(tables.leaving, path.rawBytes) }
  }

  /// The note on a document; `nil` when there is none, or it is damaged.
  package func leavingNote(for id: DocumentID, in collection: Collection) throws -> [UInt8]? {
    try reading { try $0.leavingNote(for: id, in: collection) }
  }

  /// Whether there are any notes.
  package func hasLeavingNotes() throws -> Bool { try pages().hasLeavingNotes() }

  private func forgetOlderNotes(_ access: PageAccess) throws {
    var notes: [(time: UInt64, key: [UInt8])] = []
    try access.scan(tables.leaving, from: [UInt8]().rawBytes) { key, stored in
      notes.append((StagedPart.time(stored) ?? 0, key.copied))
      return true
    }
    notes.sort { $0.time < $1.time }
    try forget(notes.prefix(notes.count / 2).map(\.key), access)
  }

  /// Forgets notes that are older than `horizon`, as the log's entries.
  func collectLeavingNotes(_ access: PageAccess, before horizon: UInt64) throws {
    guard horizon > 0, try access.entryCount(tables.leaving) > 0 else { return }
    var keys: [[UInt8]] = []
    try access.scan(tables.leaving, from: [UInt8]().rawBytes) { key, stored in
      if StagedPart.time(stored).map({ $0 < horizon }) ?? true { keys.append(key.copied) }
      return true
    }
    try forget(keys, access)
  }

  private func forget(_ keys: [[UInt8]], _ access: PageAccess) throws(StoreError) {
    try update { () throws(StoreError) in
      for key in keys { try access.delete(tables.leaving, key.rawBytes) }
    }
  }
}

extension ReadTransaction {
  /// The note on a document; `nil` when there is none, or it is damaged.
  package borrowing func leavingNote(for id: DocumentID, in collection: Collection) throws -> [UInt8]? {
    try pages.leavingNote(for: id, in: collection)
  }

  /// Whether there are any notes.
  package borrowing func hasLeavingNotes() throws -> Bool { try pages.hasLeavingNotes() }

  /// All notes, those that are damaged left out, to `body` until it returns `false`.
  package borrowing func forEachLeavingNote(_ body: (LeavingNote) throws -> Bool) throws {
    let pages = try pages
    let catalogue = catalogue
    try pages.access.scan(pages.tables.leaving, from: [UInt8]().rawBytes) { key, stored in
      guard let number = DocumentPath.collection(of: key), let collection = catalogue.collection(number),
        let value = try? SmallRecord.open(stored, at: key, table: "leaving"), value.count >= 8,
        let time = StagedPart.time(stored)
      else { return true }
      return try body(
        LeavingNote(
          id: DocumentID(trusted: DocumentPath.idBytes(of: key)), collection: collection, time: time,
          bytes: Array(value[8...])))
    }
  }
}

extension DocumentPages {
  fileprivate func leavingNote(for id: DocumentID, in collection: Collection) throws -> [UInt8]? {
    let path = DocumentPath.key(collection.id, id.bytes)
    let found = try access.withValue(tables.leaving, path.rawBytes) { stored in
      try? SmallRecord.open(stored, at: path.rawBytes, table: "leaving")
    }
    return (found ?? nil).map { Array($0.dropFirst(8)) }
  }

  fileprivate func hasLeavingNotes() throws(StoreError) -> Bool { try access.entryCount(tables.leaving) > 0 }
}
