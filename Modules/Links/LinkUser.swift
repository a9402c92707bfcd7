/// The receiver of a link's bytes and events; called on the link's executor, one call at a time.
public protocol LinkUser: AnyObject, Sendable {
  /// Takes bytes that arrived, at least one.
  func received(_ bytes: [UInt8])

  /// Whether the user can receive more; checked before each further read.
  ///
  /// While it cannot, the line is not read, and so the peer waits too. Only bytes that were read already are
  /// still delivered.
  var hasRoom: Bool { get }

  /// Called once for each direction when it is over, with an error unless it ended in order.
  ///
  /// Nothing is received after the end of the inbound direction.
  func ended(_ direction: LinkDirection, _ error: LinkError?)
}

/// One of a link's two directions, as seen from this end.
public enum LinkDirection: Hashable, Sendable {
  /// From the peer.
  case inbound
  /// To the peer.
  case outbound
}
