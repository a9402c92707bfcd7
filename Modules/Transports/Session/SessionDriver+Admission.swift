import CRDTCore
import SyncProtocol

/// Decides about the peers of sessions; called on a session's thread.
protocol SessionHost: AnyObject, Sendable {
  /// Decides about a peer that has said hello, by calling the driver's `admit` or `close` now or later.
  func met(_ peer: PeerInfo, in session: UInt64)

  /// Called with whether the session's peer has shown a sign of life after being asked for one.
  func heard(_ isAlive: Bool, in session: UInt64)

  /// Called with the presence that the session's peer has sent.
  func told(_ signed: SignedPresence, in session: UInt64)

  /// Called with a message about revocations that the session's peer has sent.
  func heard(revocations message: [UInt8], in session: UInt64)

  /// Called when the session is over; its link may still wait for the peer to close.
  func over(_ session: UInt64)
}

extension SessionDriver {
  /// Admits the peer that has said hello, and may do what its grant says.
  func admit(_ access: PeerAccess) { if inbox.postAdmission(access) { callTurn() } }

  /// Ends the session with a reason that is sent to the peer.
  func close(_ reason: SyncError) { post { $0.closing = $0.closing ?? reason } }

  /// Asks the peer for a sign of life.
  func askForSignOfLife(within patience: Duration) { post { $0.signOfLife = patience } }

  /// Sends this peer's presence, if the peer asks for it.
  func tellPresence(_ own: SignedPresence) { post { $0.ownPresence = own } }

  /// Sends a message about revocations, before all else once the session is open.
  func tell(revocations message: [UInt8]) { post { $0.revocations.append(message) } }

  /// Starts or stops asking the peer for its presence.
  func observePresence(_ observes: Bool) { post { $0.observesPresence = observes } }

  /// The site of a peer that has refused this one before its hello; valid after `run`.
  var refusedBy: SiteID? { turn.session.refusedBy }

  func tell(_ action: AdmissionAction) {
    switch action {
    case .met(let peer):
      // The session processes nothing more until the decision, and backpressure of the link stops the peer.
      host?.met(peer, in: id)
    case .isAlive(let isAlive): host?.heard(isAlive, in: id)
    }
  }
}
