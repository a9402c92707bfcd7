package import CRDTCore
package import DocStore

extension SideTable {
  /// How far peers' data was followed, by their sites.
  package static let cursors = SideTable(working: "cursors")
}

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
    try setSideValue(TimedValue.encode(cursor, in: self), .cursors, key: Self.key(peer))
    if try sideEntryCount(.cursors) > Self.cursorLimit { try removeOldestCursor() }
  }

  /// Forgets how far a peer's data was followed.
  package func removeCursor(of peer: SiteID) throws {
    try setSideValue(nil, .cursors, key: Self.key(peer))
  }

  private func removeOldestCursor() throws {
    var oldest: (key: [UInt8], time: UInt64)?
    func look(_ key: [UInt8], _ time: UInt64) {
      if oldest.map({ time < $0.time }) ?? true { oldest = (key, time) }
    }
    // A damaged one goes first.
    try forEachSideEntry(.cursors, damaged: { look($0, 0) }) { key, value in
      look(key, TimedValue.time(value) ?? 0)
      return true
    }
    if let oldest { try setSideValue(nil, .cursors, key: oldest.key) }
  }

  fileprivate static func key(_ peer: SiteID) -> [UInt8] {
    var key = ByteWriter(capacity: 16)
    key.write(peer)
    return key.bytes
  }
}

extension ReadTransaction {
  /// How far a peer's data was followed, as it was last kept; `nil` when it is not known, or damaged.
  package borrowing func cursor(of peer: SiteID) throws -> [UInt8]? {
    try sideValue(.cursors, key: WriteTransaction.key(peer), ignoringDamage: true)
      .flatMap { TimedValue($0)?.bytes }
  }
}
