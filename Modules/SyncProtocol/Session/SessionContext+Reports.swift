import CRDTCore
import DocStore
import Failpoints

/// Reports of what cannot be read, does not leave, or shows that this store is a copy.
extension SessionContext {
  /// Reports unreadable documents that this end has found: each one to the application, and once to the peer
  /// that there are some.
  ///
  /// The report precedes everything that depends on it. What the peer may not read counts as absent toward
  /// it, so its damage is not reported to it.
  func reportDamaged(_ record: DamagedRecord) { report(record, isNamed: false) }

  /// Reports an unreadable document of which the peer has sent the id or the state.
  ///
  /// The peer hears of it whatever it may read: what it has sent has not arrived.
  func reportDamage(named record: DamagedRecord) { report(record, isNamed: true) }

  private func report(_ record: DamagedRecord, isNamed: Bool) {
    if let span = record.span {
      if let range = unreadable.insert(record, span, in: store) { report(.unreadable(range)) }
      // No document may be missing.
      guard unreadable.ranges.contains(where: { $0.collection.isSame(as: record.collection) }) else { return }
    } else if unreadable.insert(record) {
      report(.damaged(collection: record.collection, id: record.id))
    }
    if isNamed || mayRead(record) { noteUnreadable() }
  }

  /// Returns whether the peer may read a damaged document; `true` if its id cannot be read and the peer may
  /// read some documents of its collection.
  private func mayRead(_ record: DamagedRecord) -> Bool {
    guard let id = record.id else { return access.mayRead(record.collection) }
    return access.mayRead(record.collection, id.bytes.span.bytes)
  }

  /// Tells the peer, once, that this end cannot read or merge everything.
  private func noteUnreadable() {
    guard !unreadable.isHere else { return }
    unreadable.isHere = true
    if !SyncDefect.unreadableNotTold.isPlanted { send(.unreadable) }
  }

  /// Reports a document of the peer that cannot be merged, once per collection and reason to the application.
  func reportExceeding(_ document: ExceedingDocument) {
    unreadable.insert(DocumentName(collection: document.collection, id: document.id))
    reportRefused(document.collection, document.reason)
    noteUnreadable()
  }

  func reportUnreadable(_ log: DamagedLog) {
    if unreadable.insert(log) { report(.unreadableLog(from: log.first, to: log.end)) }
  }

  /// Records that the peer cannot read everything.
  func noteUnreadablePeer() {
    guard !unreadable.isAtPeer else { return }
    unreadable.isAtPeer = true
    report(.unreadablePeer)
  }

  /// Reads the log on a current snapshot.
  ///
  /// - Returns: `nil` if the log is damaged: reconciliation finds the missing changes.
  func readLog<R>(_ body: (borrowing ReadTransaction) throws -> R?) throws(SyncError) -> R? {
    do { return try store.read(body) } catch {
      guard let failure = error as? StoreError, let log = DamagedLog(failure) else {
        throw SyncError(store: error)
      }
      reportUnreadable(log)
      return nil
    }
  }

  // MARK: - Withheld documents

  /// Records a document that is too large to send to a peer that does not hold it.
  func withhold(_ key: DocumentKey, in collection: String, byteCount: Int) {
    withheld.insert(key, of: collection)
    reportOversize(key, in: collection, byteCount: byteCount)
  }

  /// Sends the peer the number of withheld documents, if it has changed.
  func reportWithheld() {
    if let count = withheld.removeNews() { send(.withheld) { $0.writeVarint(count) } }
  }

  /// Records how many documents the peer withholds.
  func noteWithheld(byPeer count: Int) {
    if count > 0, withheld.byPeer == 0 { report(.withheldByPeer(documents: count)) }
    withheld.byPeer = count
  }

  // MARK: - Copies of a store

  /// Ends the session if the peer followed a different log of this store up to a position in the same epoch.
  ///
  /// In that case the store was restored since then. What it has written after that and what its clock shows
  /// do not matter.
  func checkOwnLog(at place: SeenFrame.Place) throws(SyncError) {
    let isOther = try readLog { snapshot -> Bool? in
      guard place.sequence <= snapshot.sequence else { return true }
      guard place.sequence >= snapshot.logStart,
        let check = try snapshot.commitCheck(at: place.sequence)
      else { return false }
      return check != place.commitCheck
    }
    guard isOther == true, !SyncDefect.siteNotRenewed.isPlanted else { return }
    SyncPoint.laterSelfMet.reached()
    throw SyncError(.cloned, "The peer has followed other commits of this store: it was put back or copied")
  }

  /// The error for a store that lacks writes of its own site.
  var laterSelfMet: SyncError {
    SyncPoint.laterSelfMet.reached()
    return SyncError(
      .cloned, "The peer has met later writes of site \(store.site): the store was put back or copied")
  }
}
