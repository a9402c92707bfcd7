/// Whom a link brings what it receives; called on the link's executor, one call at a time.
public protocol LinkUser: AnyObject, Sendable {
  /// Takes what arrived, at least a byte.
  func received(_ bytes: [UInt8])

  /// Whether more may be received; asked before each further read.
  ///
  /// While it may not, the line is not read, and the peer in turn waits; only what was read already is still handed over.
  var hasRoom: Bool { get }

  /// One of the two directions is over, with an error unless it ended in order; once for each.
  ///
  /// Nothing is received behind the end of the inbound one.
  func ended(_ direction: LinkDirection, _ error: LinkError?)
}

/// One of a link's two directions, as seen from here.
public enum LinkDirection: Hashable, Sendable {
  /// From the peer.
  case inbound
  /// To the peer.
  case outbound
}
