/// Advertises this peer to its neighbours and finds others, by the system's means.
///
/// Use ``MulticastDiscovery`` on systems whose own browser an application cannot use. What is found is a
/// hint: a network trusts no peer before it has proved itself.
public protocol PeerDiscovery: Sendable {
  /// Starts to advertise and to look for peers.
  ///
  /// - Parameters:
  ///   - advertisement: The information for the neighbours.
  ///   - report: Called with what is found; callable from any thread.
  /// - Returns: The session, which can be stopped.
  func start(
    _ advertisement: PeerAdvertisement, report: @escaping @Sendable (DiscoveryEvent) -> Void
  ) -> any DiscoverySession
}

/// A running discovery.
public protocol DiscoverySession: Sendable {
  /// Stops after a goodbye to the neighbours, which has been sent when this returns.
  ///
  /// Stopping again has no effect.
  func stop()
}

/// The information that a peer advertises to its neighbours.
public struct PeerAdvertisement: Sendable {
  /// A random name of this peer, different at each start.
  ///
  /// It has up to 63 lower-case letters and digits of ASCII.
  public let instance: String
  /// The port that the peer listens on.
  public let port: Int
  /// Whether the peer can be reached by IPv4 only.
  public let isIPv4Only: Bool
  /// The tag by which peers of the application recognize each other on a day: up to 62 letters and digits.
  ///
  /// Days are counted in UTC since 1970-01-01. Peers also look for the tags of the day before and the day
  /// after.
  public let tag: @Sendable (_ day: Int) -> String

  /// Makes an advertisement.
  public init(instance: String, port: Int, isIPv4Only: Bool = false, tag: @escaping @Sendable (Int) -> String)
  {
    self.instance = instance
    self.port = port
    self.isIPv4Only = isIPv4Only
    self.tag = tag
  }
}

/// An event of a discovery.
public enum DiscoveryEvent: Hashable, Sendable {
  /// A peer may be at these addresses, which replace its earlier ones.
  case found(PeerCandidate)
  /// The peer with this instance has said goodbye, or has been silent for too long.
  case lost(String)
  /// All conditions that keep the discovery from finding peers now.
  case conditions(Set<TransportCondition>)
}
