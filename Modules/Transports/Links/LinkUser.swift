/// Whom a link brings what it receives.
public protocol LinkUser: AnyObject, Sendable {
  /// Takes what arrived, at least a byte; called on the link's executor, or from one thread at a time elsewhere.
  func received(_ bytes: [UInt8])

  /// Whether more may be received; while it may not the line is not read, and the peer in turn waits.
  var hasRoom: Bool { get }

  /// One of the two directions is over, with an error unless it ended in order; once for each.
  func ended(_ direction: LinkDirection, _ error: LinkError?)
}

/// One of a link's two directions, as seen from here.
public enum LinkDirection: Hashable, Sendable {
  /// From the peer.
  case inbound
  /// To the peer.
  case outbound
}
