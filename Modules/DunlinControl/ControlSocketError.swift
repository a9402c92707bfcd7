public import Transports

/// Why a control socket cannot be opened.
public enum ControlSocketError: Error {
  /// The socket was closed for ever.
  case closed
  /// The system refuses the socket at the path.
  case link(LinkError, path: String)
}
