import CRDTCore
import NIOConcurrencyHelpers

/// A session that the network runs, for who waits for its end.
final class ServedSession: Sendable {
  private struct State {
    var site: SiteID?
    var beganAt: Duration?
    var end: End?
  }

  private struct End {
    let at: Duration
    let hasMoved: Bool
    let isRenewed: Bool
    let reason: SessionEnd
  }

  private let state = NIOLockedValueBox(State())

  /// The peer's site, once it has said so.
  var site: SiteID? { state.withLockedValue { $0.site } }

  /// Whether the connection did its work, so that the next attempt to connect need not wait long.
  ///
  /// That the peers met is not enough: one that says hello and hangs up, or ends the session, would be dialed in a tight
  /// circle. Where the store has taken a new site meanwhile, or this peer other credentials, it is to go on with those at
  /// once; it takes a site each minute at most.
  func wasOfUse(_ backoff: Backoff) -> Bool {
    state.withLockedValue { state in
      guard let end = state.end else { return false }
      if end.isRenewed { return true }
      guard let beganAt = state.beganAt else { return false }
      let lasted = end.at - beganAt
      return lasted >= backoff.resetAfter || end.hasMoved && lasted >= backoff.resetAfterDocuments
    }
  }

  /// Takes the site that the peer says it has.
  func met(_ site: SiteID) { state.withLockedValue { $0.site = site } }

  /// Takes when the peer was admitted.
  func began(at time: Duration) { state.withLockedValue { $0.beganAt = time } }

  /// How it ended before the peers met; `nil` when they did, and before it has ended.
  var failure: SessionEnd? { state.withLockedValue { $0.beganAt == nil ? $0.end?.reason : nil } }

  func ended(at time: Duration, hasMoved: Bool, isRenewed: Bool, _ reason: SessionEnd) {
    state.withLockedValue {
      $0.end = End(at: time, hasMoved: hasMoved, isRenewed: isRenewed, reason: reason)
    }
  }
}
