package import CRDTCore
import DocStore

/// What a session asks of its driver about the peer, which other sessions concern too.
public enum AdmissionAction: Sendable {
  /// The peer has said who it is: call `Session.admit`, or `Session.close` with a reason.
  case met(PeerInfo)
  /// Whether the peer has shown a sign of life since `Session.askForSignOfLife`.
  case isAlive(Bool)
}

/// What belongs to the decision about the peer.
struct Admission {
  /// The peer's site, where it refused this one before it said hello.
  var refusedBy: SiteID?
  /// When a peer that is asked for a sign of life is taken for gone.
  var lifeDeadline: Duration?
}

extension Session {
  /// Lets the peer in that has said hello; the driver calls it where it was asked to decide.
  package func admit(now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .met(let hello, let peer) = state else { return }
      try begin(with: peer, hello)
    }
  }

  /// Asks the peer for a sign of life: whatever it sends counts, and if nothing else is under way its answer to a ping.
  ///
  /// - Parameters:
  ///   - patience: How long it has, at least; four round trips where these take longer.
  ///   - now: The time.
  /// - Returns: Actions, and later ``AdmissionAction/isAlive(_:)``.
  package func askForSignOfLife(within patience: Duration, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .open = state, admission.lifeDeadline == nil else { return }
      admission.lifeDeadline = now + max(patience, (context.roundTrip.shortest ?? .zero) * 4)
      ping()
    }
  }

  /// The peer's site, where it refused this one before it said hello.
  package var refusedBy: SiteID? { admission.refusedBy }

  var hasSaidHello: Bool { highestTold != nil }

  /// What a peer that is refused is told of this one, which has not said hello: whom it need not dial again.
  var siteForRefusal: SiteID? {
    guard case .met = state, !hasSaidHello else { return nil }
    return context.store.site
  }

  func noteSignOfLife() {
    guard admission.lifeDeadline != nil else { return }
    admission.lifeDeadline = nil
    context.ask(.admission(.isAlive(true)))
  }

  func checkSignOfLife(_ now: Duration) {
    guard let deadline = admission.lifeDeadline, now >= deadline else { return }
    admission.lifeDeadline = nil
    context.ask(.admission(.isAlive(false)))
  }
}
