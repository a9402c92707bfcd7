import CRDTCore
import DocStore

/// Scans of the store that take several calls, and counts.
extension SessionContext {
  /// Returns whether the peer's grant lets it read a document that is too large to be sent.
  func mayRead(
    _ document: OversizeDocument, _ snapshot: borrowing ReadTransaction
  ) throws -> Bool {
    try mayReadCopy(of: document.id, in: document.collection, snapshot)
  }

  /// Returns whether the peer's grant lets it read the copy of a document that is stored here.
  ///
  /// Of a document without a copy, that is whether the peer may read it in some state; where its fields
  /// decide, it is `false`.
  func mayReadCopy(
    of id: DocumentID, in collection: String, _ snapshot: borrowing ReadTransaction
  ) throws -> Bool {
    guard let gatekeeper, gatekeeper.dependsOnFields(of: collection) else {
      return access.mayRead(collection, id.bytes.span.bytes)
    }
    var isReadable = false
    guard let known = try snapshot.collection(collection) else { return false }
    try snapshot.visitIntactRecord(known, id, damaged: reportDamaged) { _, record, _ in
      isReadable = gatekeeper.mayRead(known, id.bytes.span.bytes, record)
    }
    return isReadable
  }

  /// Returns whether the peer's grant lets it read the copy of a document that is stored here.
  func mayReadCopy(of id: DocumentID, in collection: String) throws(SyncError) -> Bool {
    guard access.dependsOnFields(of: collection) else {
      return access.mayRead(collection, id.bytes.span.bytes)
    }
    return try read { try mayReadCopy(of: id, in: collection, $0) }
  }

  /// Continues a scan on a snapshot of the current state.
  func advance(_ scan: inout RangeScan, _ interest: Interest, budget: inout Int) throws(SyncError) {
    let rule = access.partialRule(of: scan.range.collection)
    try read { try scan.step($0, interest, rule: rule, damaged: reportDamaged, budget: &budget) }
  }

  /// Continues a walk on a current snapshot.
  func step(
    _ scan: inout HeldScan, _ interest: Interest, budget: inout Int, record visit: HeldVisitor,
    certificate visitCertificate: (_ idHash: UInt64) -> Void = { _ in }
  ) throws(SyncError) {
    let rule = access.partialRule(of: scan.collection)
    try read { snapshot in
      try scan.step(
        snapshot, interest, rule: rule, budget: &budget, damaged: reportDamaged, record: visit,
        certificate: visitCertificate)
    }
  }

  /// Returns how many bytes one more filter may take, within the limits of its role, this peer and all peers.
  func filterRoom(_ halves: NoticeHalves) -> Int {
    min(
      halves.room,
      shared.memory.askedRoom(
        of: id, own: configuration.peerMemoryBytes / 2, limit: configuration.allPeersMemoryBytes / 2))
  }

  /// Returns about how many documents of a collection either role can hold: the count of all its records.
  func recordCount(of collection: String) throws(SyncError) -> UInt64 {
    try read { try $0.recordCount(of: collection) }
  }

  /// Returns how many compacted tombstones a collection has; if it has many, the count for all collections.
  ///
  /// - Complexity: O(1), as the count is bounded.
  func certificateCount(of collection: String) throws(SyncError) -> UInt64 {
    try read { snapshot in
      var count = 0
      guard let known = try snapshot.collection(collection) else { return 0 }
      try snapshot.forEachCertificate(in: known) { _ in
        count += 1
        return count < SyncLimits.countedCertificates
      }
      return UInt64(count < SyncLimits.countedCertificates ? count : try snapshot.certificateCount())
    }
  }
}

extension ReadTransaction {
  /// Returns the number of records of a collection, including tombstones.
  fileprivate borrowing func recordCount(of collection: String) throws -> UInt64 {
    let info = try collections().first { $0.name.isSame(as: collection) }
    return info.map { UInt64($0.documentCount + $0.tombstoneCount) } ?? 0
  }
}
