import CRDTCore
import Failpoints

/// Much that a sender has, and that another session may be bringing already.
struct PostponedBulk {
  /// Whether this session brings much.
  var isHeld = false
  /// Collections that are compared again when they may be, with what their sender has of them.
  var collections: [TextKey: UInt64?] = [:]
  /// When to ask for leave again.
  var nextLook = Duration.zero
}

/// Much is brought by one session of the store at a time: the reconciliations of others stand still meanwhile, with what
/// is the same at their peers not asked for, and go on by comparing it again.
extension Puller {
  /// Whether much of a collection may be asked for now, of which the sender has so many documents; else the whole of it is
  /// compared again when it may.
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

  /// When leave is to be asked for again; `nil` where nothing waits.
  var bulkTime: Duration? { phase == .asking && !bulk.collections.isEmpty ? bulk.nextLook : nil }

  var isBulkDue: Bool { bulkTime.map { $0 <= context.now } ?? false }

  /// Compares again what was postponed, as far as it may be now.
  func takeUpBulk() {
    guard isBulkDue else { return }
    let postponed = bulk.collections
    bulk.collections = [:]
    for (collection, count) in postponed.sorted(by: { $0.key < $1.key })
    where mayAskForMuch(of: collection.text, count: count) {
      reconciler.compare(collection.text)
    }
  }

  /// Looks again at once.
  func hurryBulk() { bulk.nextLook = context.now }

  func noteBulk() {
    guard bulk.isHeld else { return }
    context.shared.bulk.note(
      context.id, received: context.statistics.plainBytesReceived, progressedAt: queue.progressedAt,
      isApplying: !queue.isApplied)
  }

  /// Lets another session bring what it has, and waits for none any more.
  func releaseBulk() {
    guard bulk.isHeld || !bulk.collections.isEmpty else { return }
    bulk.collections = [:]
    bulk.isHeld = false
    let waiting = context.shared.bulk.leave(context.id)
    if !waiting.isEmpty { context.ask(.nudge(waiting)) }
  }
}
