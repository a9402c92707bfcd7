import CRDTCore
import Links
import NIOConcurrencyHelpers

/// A running session of the network, for callers that wait for its end.
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

  /// The peer's site, once it has sent it.
  var site: SiteID? { state.withLockedValue { $0.site } }

  /// Whether the connection was useful, so that the next attempt to connect need not wait long.
  ///
  /// That the peers met is not enough: a peer that says hello and closes, or ends the session, would be
  /// dialed in a tight loop. There is an exception: the store has taken a new site meanwhile, or this peer
  /// other credentials. Then it must continue with those at once. It takes at most one new site a minute.
  func wasOfUse(_ backoff: Backoff) -> Bool {
    state.withLockedValue { state in
      guard let end = state.end else { return false }
      if end.isRenewed { return true }
      guard let beganAt = state.beganAt else { return false }
      let lasted = end.at - beganAt
      return lasted >= backoff.resetAfter || end.hasMoved && lasted >= backoff.resetAfterDocuments
    }
  }

  /// Records the site that the peer claims.
  func met(_ site: SiteID) { state.withLockedValue { $0.site = site } }

  /// Records when the peer was admitted.
  func began(at time: Duration) { state.withLockedValue { $0.beganAt = time } }

  /// How the session ended before the peers met; `nil` when they met, and before it has ended.
  var failure: SessionEnd? { state.withLockedValue { $0.beganAt == nil ? $0.end?.reason : nil } }

  func ended(at time: Duration, hasMoved: Bool, isRenewed: Bool, _ reason: SessionEnd) {
    state.withLockedValue {
      $0.end = End(at: time, hasMoved: hasMoved, isRenewed: isRenewed, reason: reason)
    }
  }
}
