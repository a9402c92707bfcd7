package import CRDTCore
package import DocStore

extension SideTable {
  /// Notes on documents that have left all of this store's subscriptions or will be evicted, by document key.
  package static let leaving = SideTable(working: "leaving")
}

/// A note on a document that has left all of this store's subscriptions.
package struct LeavingNote: Sendable {
  package let id: DocumentID
  package let collection: Collection
  /// When the note was written, in milliseconds of lived time.
  package let time: UInt64
  /// The content, which only its writer interprets.
  package let bytes: [UInt8]

  /// Returns a document's key: the number of its collection, then its id.
  fileprivate static func key(_ id: DocumentID, in collection: Collection) -> [UInt8] {
    var key = ByteWriter(capacity: 4 + id.bytes.count)
    key.writeFixed(collection.id)
    key.write(id.bytes)
    return key.bytes
  }
}

extension WriteTransaction {
  /// The maximum size of a note in bytes.
  package static let leavingNoteBytes = 4_096
  /// The maximum number of notes.
  static let leavingLimit = 65_536

  /// Stores a note on a document, without making the transaction a commit.
  ///
  /// At the limit, the older half of the notes is dropped.
  ///
  /// - Returns: `false`, with nothing stored, if the collection is unknown here.
  package func setLeavingNote(_ note: [UInt8], for id: DocumentID, in collection: String) throws -> Bool {
    precondition(note.count <= Self.leavingNoteBytes, "a note is too long")
    guard let collection = try self.collection(collection) else { return false }
    if try sideEntryCount(.leaving) >= Self.leavingLimit, try leavingNote(for: id, in: collection) == nil {
      try forgetOlderNotes()
    }
    try setSideValue(
      TimedValue.encode(note, in: self), .leaving, key: LeavingNote.key(id, in: collection))
    return true
  }

  /// Removes the note on a document, if there is one.
  package func removeLeavingNote(for id: DocumentID, in collection: String) throws {
    guard let collection = try self.collection(collection) else { return }
    try setSideValue(nil, .leaving, key: LeavingNote.key(id, in: collection))
  }

  /// Removes the notes on documents that peers have withdrawn, since this store's peer has another grant.
  package func forgetWithdrawals() throws {
    var keys: [[UInt8]] = []
    try forEachSideEntry(.leaving, damaged: { _ in }) { key, stored in
      if let bytes = TimedValue(stored)?.bytes, case .withdrawn = LeavingState(bytes) { keys.append(key) }
      return true
    }
    for key in keys { try setSideValue(nil, .leaving, key: key) }
  }

  private func forgetOlderNotes() throws {
    var notes = try timesOfNotes()
    notes.sort { $0.time < $1.time }
    for note in notes.prefix(notes.count / 2) { try setSideValue(nil, .leaving, key: note.key) }
  }

  /// Removes notes older than `horizon`, like the entries of the log.
  func collectLeavingNotes(before horizon: UInt64) throws {
    guard horizon > 0 else { return }
    for note in try timesOfNotes() where note.time < horizon {
      try setSideValue(nil, .leaving, key: note.key)
    }
  }

  /// Returns when the notes were written; 0 for a note without a time.
  private func timesOfNotes() throws -> [(key: [UInt8], time: UInt64)] {
    var notes: [(key: [UInt8], time: UInt64)] = []
    try forEachSideHead(.leaving, from: [], bytes: TimedValue.timeBytes) { key, head in
      notes.append((key, TimedValue.time(head) ?? 0))
      return true
    }
    return notes
  }
}

extension SideReading where Self: ~Copyable {
  /// Returns the note on a document; `nil` if there is none or it is damaged.
  package borrowing func leavingNote(for id: DocumentID, in collection: Collection) throws -> [UInt8]? {
    try sideValue(.leaving, key: LeavingNote.key(id, in: collection), ignoringDamage: true)
      .flatMap { TimedValue($0)?.bytes }
  }

  /// Returns whether there are any notes.
  package borrowing func hasLeavingNotes() throws -> Bool { try sideEntryCount(.leaving) > 0 }
}

extension ReadTransaction {
  /// Calls `body` with each intact note until it returns `false`.
  package borrowing func forEachLeavingNote(_ body: (LeavingNote) throws -> Bool) throws {
    try forEachSideEntry(.leaving, damaged: { _ in }) { key, stored in
      var name = ByteReader(key.span.bytes)
      guard let number: UInt32 = try? name.readFixed(), let collection = try collection(number: number),
        let value = TimedValue(stored)
      else { return true }
      return try body(
        LeavingNote(
          id: DocumentID(trusted: Array(key[name.offset...])), collection: collection, time: value.time,
          bytes: value.bytes))
    }
  }
}
