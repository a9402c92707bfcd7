import CRDTCore
import Synchronization

/// Who brings much: of several sessions whose peers have about the same of a collection, one is asked at a time.
///
/// The others compare again when it is done, and then find little or nothing. Peers that have clearly more or less than
/// the one that is asked are not held back, and nobody waits long for one that is slow or brings nothing.
final class BulkScheduler: Sendable {
  /// How long a session that has brought much may bring nothing before another is asked.
  static let patience = Duration.seconds(5)
  /// How long it is waited for a session that has brought little, or nothing yet.
  static let trial = Duration.milliseconds(500)
  /// Plain bytes from which on it is much.
  static let muchBytes: UInt64 = 4 << 10
  /// How long it is waited for a session that is slow.
  static let slowPatience = Duration.seconds(2)
  /// Plain bytes a second from which on it is not.
  static let quickRate = 262_144.0

  private struct Holder {
    let since: Duration
    /// What the session had received before, and has now.
    let bytesBefore: UInt64
    var bytes: UInt64
    var progressedAt: Duration
    var isApplying = false
    /// How many documents its peer has of each collection that it brings.
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
    /// Since when sessions wait.
    var waiting: [UInt64: Duration] = [:]
  }

  private let state = Mutex(State())

  /// Asks for leave to be brought much of a collection, of which the session's peer has `count` documents, if that is
  /// known.
  ///
  /// - Returns: `nil` when it may go on; else after how long to ask again, at the latest.
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

  /// Whether two peers seem to have about the same: it is the usual case among peers that sync with each other.
  private static func areAlike(_ count: UInt64?, _ other: UInt64?) -> Bool {
    guard let count, let other else { return true }
    let (less, more) = (min(count, other), max(count, other))
    return more - less <= more / 20
  }

  /// Takes note of how a session fares that is being brought much.
  func note(_ session: UInt64, received: UInt64, progressedAt: Duration, isApplying: Bool) {
    state.withLock { state in
      guard let holder = state.holders[session] else { return }
      state.holders[session]?.bytes = received
      state.holders[session]?.progressedAt = max(progressedAt, holder.since)
      state.holders[session]?.isApplying = isApplying
    }
  }

  /// Takes back the leave, or forgets the session.
  ///
  /// - Returns: Those that wait for it.
  func leave(_ session: UInt64) -> [UInt64] {
    state.withLock { state in
      state.waiting[session] = nil
      return state.holders.removeValue(forKey: session) == nil ? [] : state.waiting.keys.sorted()
    }
  }
}
