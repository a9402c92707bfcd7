package import CRDTCore
package import DocStore

extension SideTable {
  /// Checkpoints of peers' logs, by the peers' sites.
  package static let checkpoints = SideTable(working: "cursors")
}

extension WriteTransaction {
  /// The maximum number of checkpoints; beyond it the one written longest ago is removed.
  static let checkpointLimit = 1_024
  /// The maximum size of a checkpoint in bytes.
  package static let checkpointBytes = 256

  /// Stores the checkpoint of a peer's log, without making the transaction a commit.
  ///
  /// This transaction or an earlier one must write the data that the checkpoint covers.
  package func setCheckpoint(_ checkpoint: [UInt8], of peer: SiteID) throws {
    precondition(checkpoint.count <= Self.checkpointBytes, "a cursor is too long")
    try setSideValue(TimedValue.encode(checkpoint, in: self), .checkpoints, key: Self.key(peer))
    if try sideEntryCount(.checkpoints) > Self.checkpointLimit { try removeOldestCheckpoint() }
  }

  /// Removes the checkpoint of a peer's log.
  package func removeCheckpoint(of peer: SiteID) throws {
    try setSideValue(nil, .checkpoints, key: Self.key(peer))
  }

  private func removeOldestCheckpoint() throws {
    var oldest: (key: [UInt8], time: UInt64)?
    func look(_ key: [UInt8], _ time: UInt64) {
      if oldest.map({ time < $0.time }) ?? true { oldest = (key, time) }
    }
    // A damaged checkpoint is removed first.
    try forEachSideEntry(.checkpoints, damaged: { look($0, 0) }) { key, value in
      look(key, TimedValue.time(value) ?? 0)
      return true
    }
    if let oldest { try setSideValue(nil, .checkpoints, key: oldest.key) }
  }

  fileprivate static func key(_ peer: SiteID) -> [UInt8] {
    var key = ByteWriter(capacity: 16)
    key.write(peer)
    return key.bytes
  }
}

extension ReadTransaction {
  /// Returns the stored checkpoint of a peer's log; `nil` if there is none or it is damaged.
  package borrowing func checkpoint(of peer: SiteID) throws -> [UInt8]? {
    try sideValue(.checkpoints, key: WriteTransaction.key(peer), ignoringDamage: true)
      .flatMap { TimedValue($0)?.bytes }
  }
}
