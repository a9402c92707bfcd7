import CRDTCore
import DocStore
import Failpoints

/// Reports of what cannot be read, does not leave, or shows that this store is a copy.
extension SessionContext {
  /// Reports unreadable documents: each one to the application, and once to the peer that there are some.
  ///
  /// The report precedes everything that depends on it.
  func reportDamaged(_ record: DamagedRecord) {
    let isFirst = !unreadable.isHere
    if let span = record.span {
      guard let range = unreadable.insert(record, span, in: store) else { return }
      report(.unreadable(range))
    } else {
      guard unreadable.insert(record) else { return }
      report(.damaged(collection: record.collection, id: record.id))
    }
    if isFirst, !SyncDefect.unreadableNotTold.isPlanted { send(.unreadable) }
  }

  /// Reports a document of the peer that cannot be merged, once per collection and reason to the application.
  func reportExceeding(_ document: ExceedingDocument) {
    let isFirst = !unreadable.isHere
    unreadable.insert(DocumentName(collection: document.collection, id: document.id))
    reportRefused(document.collection, document.reason)
    if isFirst, !SyncDefect.unreadableNotTold.isPlanted { send(.unreadable) }
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
