import CRDTCore
import Synchronization

/// Schedules large initial transfers: of several sessions whose peers have similar data, one pulls at a time.
///
/// The others reconcile again when it is done, and then find few differences or none. A peer that has clearly
/// more or less data is not held back. No session waits long for one that is slow or delivers nothing.
final class BulkScheduler: Sendable {
  /// How long a session that has delivered much may deliver nothing before another takes over.
  static let patience = Duration.seconds(5)
  /// How long others wait for a session that has delivered little or nothing.
  static let trial = Duration.milliseconds(500)
  /// Plain bytes above which a session has delivered much.
  static let muchBytes: UInt64 = 4 << 10
  /// How long others wait for a slow session.
  static let slowPatience = Duration.seconds(2)
  /// Plain bytes per second above which a session is not slow.
  static let quickRate = 262_144.0

  private struct Holder {
    let since: Duration
    /// The plain bytes that the session had received when it began, and has received now.
    let bytesBefore: UInt64
    var bytes: UInt64
    var progressedAt: Duration
    var isApplying = false
    /// How many documents its peer has in each collection that it pulls.
    var counts: [TextKey: UInt64?] = [:]

    func isInTheWay(for waited: Duration, now: Duration) -> Bool {
      guard isApplying || now - progressedAt < BulkScheduler.patience else { return false }
      let brought = bytes - bytesBefore
      if brought < BulkScheduler.muchBytes { return waited < BulkScheduler.trial }
      return waited < BulkScheduler.slowPatience
        || Double(brought) >= BulkScheduler.quickRate * ((now - since) / .seconds(1))
    }
  }

  private struct State {
    var holders: [UInt64: Holder] = [:]
    /// When each waiting session began to wait.
    var waiting: [UInt64: Duration] = [:]
  }

  private let state = Mutex(State())

  /// Requests permission to pull a large collection; `count` is the peer's number of documents, if known.
  ///
  /// - Returns: `nil` when the session may go on; otherwise the time after which to ask again at the latest.
  func claim(
    _ collection: String, of count: UInt64?, for session: UInt64, received: UInt64, now: Duration
  ) -> Duration? {
    state.withLock { state in
      let since = state.waiting[session] ?? now
      let isInTheWay = state.holders.contains { other, holder in
        guard other != session, let known = holder.counts[collection] else { return false }
        return Self.areAlike(known, count) && holder.isInTheWay(for: now - since, now: now)
      }
      guard !isInTheWay else {
        state.waiting[session] = since
        return Self.trial / 2
      }
      state.waiting[session] = nil
      var holder =
        state.holders[session]
        ?? Holder(since: now, bytesBefore: received, bytes: received, progressedAt: now)
      holder.counts.updateValue(count, forKey: collection)
      state.holders[session] = holder
      return nil
    }
  }

  /// Returns whether two peers seem to have about the same data, which is usual among peers that sync.
  private static func areAlike(_ count: UInt64?, _ other: UInt64?) -> Bool {
    guard let count, let other else { return true }
    let (less, more) = (min(count, other), max(count, other))
    return more - less <= more / 20
  }

  /// Records the progress of a session that pulls much.
  func note(_ session: UInt64, received: UInt64, progressedAt: Duration, isApplying: Bool) {
    state.withLock { state in
      guard let holder = state.holders[session] else { return }
      state.holders[session]?.bytes = received
      state.holders[session]?.progressedAt = max(progressedAt, holder.since)
      state.holders[session]?.isApplying = isApplying
    }
  }

  /// Removes a session's permission and its wait.
  ///
  /// - Returns: The sessions that wait.
  func leave(_ session: UInt64) -> [UInt64] {
    state.withLock { state in
      state.waiting[session] = nil
      return state.holders.removeValue(forKey: session) == nil ? [] : state.waiting.keys.sorted()
    }
  }
}
