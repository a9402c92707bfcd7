import CRDTCore
import Failpoints

/// Large transfers of this session that wait for another session of the store.
struct PostponedBulk {
  /// Whether this session has permission for a large transfer.
  var isHeld = false
  /// Collections to compare again once permitted, with the sender's document count if it is known.
  var collections: [TextKey: UInt64?] = [:]
  /// When to ask for permission again.
  var nextLook = Duration.zero
}

/// Pulls large amounts of data over one session of the store at a time.
///
/// The other sessions pause reconciliation of those collections meanwhile, and later compare them again. So
/// nothing is requested twice when peers have the same documents.
extension Puller {
  /// Returns whether a collection of `count` documents at the sender may be requested now.
  ///
  /// If not, the whole collection is compared again once that is permitted.
  func mayAskForMuch(of collection: String, count: UInt64?) -> Bool {
    let wait = context.shared.bulk.claim(
      collection, of: count, for: context.id, received: context.statistics.plainBytesReceived,
      now: context.now)
    guard let wait else {
      bulk.isHeld = true
      return true
    }
    SyncPoint.bulkPostponed.reached()
    bulk.collections.updateValue(count, forKey: collection)
    bulk.nextLook = context.now + wait
    return false
  }

  /// When to ask for permission again; `nil` if nothing waits.
  var bulkTime: Duration? { phase == .asking && !bulk.collections.isEmpty ? bulk.nextLook : nil }

  var isBulkDue: Bool { bulkTime.map { $0 <= context.now } ?? false }

  /// Compares the postponed collections again, as far as that is permitted now.
  func takeUpBulk() {
    guard isBulkDue else { return }
    let postponed = bulk.collections
    bulk.collections = [:]
    for (collection, count) in postponed.sorted(by: { $0.key < $1.key })
    where mayAskForMuch(of: collection.text, count: count) {
      reconciler.compare(collection.text)
    }
  }

  /// Asks for permission again in the next call.
  func hurryBulk() { bulk.nextLook = context.now }

  func noteBulk() {
    guard bulk.isHeld else { return }
    context.shared.bulk.note(
      context.id, received: context.statistics.plainBytesReceived, progressedAt: queue.progressedAt,
      isApplying: !queue.isApplied)
  }

  /// Gives up the permission so that another session may use it, and drops the postponed collections.
  func releaseBulk() {
    guard bulk.isHeld || !bulk.collections.isEmpty else { return }
    bulk.collections = [:]
    bulk.isHeld = false
    let waiting = context.shared.bulk.leave(context.id)
    if !waiting.isEmpty { context.ask(.nudge(waiting)) }
  }
}
