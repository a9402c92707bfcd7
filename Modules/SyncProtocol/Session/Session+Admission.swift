package import CRDTCore
import DocStore

/// A question about the peer that the driver answers, because it also concerns other sessions.
public enum AdmissionAction: Sendable {
  /// The peer has sent its hello: call `Session.admit`, or `Session.close` with a reason.
  case met(PeerInfo)
  /// Whether the peer has sent anything since `Session.askForSignOfLife`.
  case isAlive(Bool)
}

/// The state of admitting the peer.
struct Admission {
  /// The site of a peer that refused this one before its hello.
  var refusedBy: SiteID?
  /// When a peer that is being probed counts as dead.
  var lifeDeadline: Duration?
}

extension Session {
  /// Admits a peer that has sent its hello; the driver calls this after ``AdmissionAction/met(_:)``.
  package func admit(now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .met(let hello, let peer) = state else { return }
      try begin(with: peer, hello)
    }
  }

  /// Probes whether the peer is alive: any bytes count, and a ping makes sure that there is something to answer.
  ///
  /// - Parameters:
  ///   - patience: The minimum time to answer; four round trips if these take longer.
  ///   - now: The time.
  /// - Returns: Actions; ``AdmissionAction/isAlive(_:)`` follows later.
  package func askForSignOfLife(within patience: Duration, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .open = state, admission.lifeDeadline == nil else { return }
      admission.lifeDeadline = now + max(patience, (context.roundTrip.shortest ?? .zero) * 4)
      ping()
    }
  }

  /// The site of a peer that refused this one before its hello.
  package var refusedBy: SiteID? { admission.refusedBy }

  var hasSaidHello: Bool { highestTold != nil }

  /// The site to put into a refusal sent before the hello, so that the peer need not dial this one again.
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
