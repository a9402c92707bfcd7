/// A question about the peer that the driver answers, because it also concerns other sessions.
public enum AdmissionAction: Sendable {
  /// The peer has sent its hello: call `Session.admit`, or `Session.close` with a reason.
  case met(PeerInfo)
  /// Whether the peer has sent anything since `Session.askForSignOfLife`.
  case isAlive(Bool)
}
