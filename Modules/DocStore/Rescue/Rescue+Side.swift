import CRDTCore

extension Rescue {
  /// Rescues the entries of side tables that pass their checks.
  mutating func takeSideEntries() throws {
    guard let tree = trees[TextKey(Tables.sideName)] else { return }
    var damaged: [PageDamage] = []
    var batch: [(key: [UInt8], value: [UInt8])] = []
    var batchBytes = 0
    // A copy, because found entries are stored while the walk continues.
    var walk = walk
    try walk.walk(tree, as: .entries, damaged: { damaged.append($0) }) { key, stored in
      guard SideTable.isKey(key.rawBytes),
        let value = try? SmallRecord.open(Array(stored).rawBytes, at: key.rawBytes, table: "side")
      else {
        report.damage.note(
          .entry, "An entry of the table side is damaged: its key is \(EntryChecks.digits(key))")
        return
      }
      batch.append((key, value))
      batchBytes += key.count + value.count
      guard batch.count >= Batch.documents || batchBytes >= Batch.bytes else { return }
      try put(batch)
      batch = []
      batchBytes = 0
    }
    try put(batch)
    self.walk = walk
    for damage in damaged { report.damage.note(.page, "\(damage.message), in the table side") }
  }

  private mutating func put(_ entries: [(key: [UInt8], value: [UInt8])]) throws {
    guard !entries.isEmpty else { return }
    try target.write { transaction in
      for (key, value) in entries { try transaction.putSideEntry(value, at: key) }
    }
    report.sideEntryCount += entries.count
  }
}

extension WriteTransaction {
  /// Writes an entry under its key in the file.
  fileprivate func putSideEntry(_ value: [UInt8], at stored: [UInt8]) throws(StoreError) {
    let access = try pagesToWrite("rescue")
    try update { () throws(StoreError) in
      if !access.knowsSide { try access.openSide(create: true) }
      try SmallRecord.put(value, at: stored, in: tables.side, access)
    }
  }
}
