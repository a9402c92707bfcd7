import CRDTCore
import SyncProtocol

/// Who decides about the peers of sessions, and is called on a session's thread.
protocol SessionHost: AnyObject, Sendable {
  /// Decides about a peer that has said hello: by the driver's `admit` or `close`, now or later.
  func met(_ peer: PeerInfo, in session: UInt64)

  /// Takes whether the session's peer has shown a sign of life when it was asked for one.
  func heard(_ isAlive: Bool, in session: UInt64)

  /// Takes what the session's peer says of itself.
  func told(_ signed: SignedPresence, in session: UInt64)

  /// Takes that the session is over; its link may still wait for the peer to hang up.
  func over(_ session: UInt64)
}

extension SessionDriver {
  /// Lets the peer in that has said hello.
  func admit() { if inbox.postAdmission() { callTurn() } }

  /// Ends the session with a reason that the peer is told.
  func close(_ reason: SyncError) { post { $0.closing = $0.closing ?? reason } }

  /// Asks the peer for a sign of life.
  func askForSignOfLife(within patience: Duration) { post { $0.signOfLife = patience } }

  /// Tells the peer, where it asks, what this one says of itself.
  func tellPresence(_ own: SignedPresence) { post { $0.ownPresence = own } }

  /// Begins or ends to ask the peer what it says of itself.
  func observePresence(_ observes: Bool) { post { $0.observesPresence = observes } }

  /// The site of a peer that has refused this one before it said hello; for after `run`.
  var refusedBy: SiteID? { turn.session.refusedBy }

  func tell(_ action: AdmissionAction) {
    switch action {
    case .met(let peer):
      // Until it is decided the session looks at nothing more, and the peer waits by the link's back pressure.
      host?.met(peer, in: id)
    case .isAlive(let isAlive): host?.heard(isAlive, in: id)
    }
  }
}
