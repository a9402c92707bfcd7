import CRDTCore
import Failpoints

/// Pulls large amounts of data over one session of the store at a time.
///
/// The other sessions pause reconciliation of those collections meanwhile, and later compare them again. So
/// nothing is requested twice when peers have the same documents.
final class BulkPulls {
  private let context: SessionContext
  private let pull: PullState
  /// Whether this session has permission for a large transfer.
  private var isHeld = false
  /// Collections to compare again once permitted, with the sender's document count if it is known.
  private var postponed: [TextKey: UInt64?] = [:]
  /// When to ask for permission again.
  private var nextLook = Duration.zero

  init(_ pull: PullState) {
    context = pull.context
    self.pull = pull
  }

  /// Whether no collection waits for permission.
  var isEmpty: Bool { postponed.isEmpty }

  /// Returns whether a collection of `count` documents at the sender may be requested now.
  ///
  /// If not, the whole collection is compared again once that is permitted.
  func mayAsk(for collection: String, count: UInt64?) -> Bool {
    let wait = context.shared.bulk.claim(
      collection, of: count, for: context.id, received: context.statistics.plainBytesReceived,
      now: context.now)
    guard let wait else {
      isHeld = true
      return true
    }
    SyncPoint.bulkPostponed.reached()
    postponed.updateValue(count, forKey: collection)
    nextLook = context.now + wait
    return false
  }

  /// When to ask for permission again; `nil` if nothing waits.
  var time: Duration? { pull.phase == .asking && !postponed.isEmpty ? nextLook : nil }

  var isDue: Bool { time.map { $0 <= context.now } ?? false }

  /// Removes and returns the postponed collections that may be compared now.
  func removePermitted() -> [String] {
    guard isDue else { return [] }
    let waiting = postponed
    postponed = [:]
    return waiting.sorted { $0.key < $1.key }.filter { mayAsk(for: $0.key.text, count: $0.value) }.map(
      \.key.text)
  }

  /// Asks for permission again in the next call.
  func hurry() { nextLook = context.now }

  /// Reports the progress of a permitted transfer to the other sessions.
  func note() {
    guard isHeld else { return }
    context.shared.bulk.note(
      context.id, received: context.statistics.plainBytesReceived, progressedAt: pull.queue.progressedAt,
      isApplying: !pull.queue.isApplied)
  }

  /// Gives up the permission so that another session may use it, and drops the postponed collections.
  func release() {
    guard isHeld || !postponed.isEmpty else { return }
    postponed = [:]
    isHeld = false
    let waiting = context.shared.bulk.leave(context.id)
    if !waiting.isEmpty { context.ask(.nudge(waiting)) }
  }
}
