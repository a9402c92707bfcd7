/// Advertises this peer to its neighbours and finds others, by whatever the system has for that.
///
/// ``MulticastDiscovery`` is the one for systems whose own browser an application cannot use. What is found is a hint: a
/// network believes nothing before the peer has proved itself.
public protocol PeerDiscovery: Sendable {
  /// Begins to advertise and to look.
  ///
  /// - Parameters:
  ///   - advertisement: What neighbours are told.
  ///   - report: Hears what is found; callable from any thread.
  /// - Returns: What ends it.
  func start(
    _ advertisement: PeerAdvertisement, report: @escaping @Sendable (DiscoveryEvent) -> Void
  ) -> any DiscoverySession
}

/// A discovery that runs.
public protocol DiscoverySession: Sendable {
  /// Tells the neighbours that this peer goes, and stops: that is said when this returns. Stopping again has no effect.
  func stop()
}

/// What a peer tells its neighbours of itself.
public struct PeerAdvertisement: Sendable {
  /// A random name of this peer, which is another one at each start: up to 63 lower-case letters and digits of ASCII.
  public let instance: String
  /// The port that it listens on.
  public let port: Int
  /// Whether it can be reached by IPv4 only.
  public let isIPv4Only: Bool
  /// The tag by which peers of the application know each other on a day: up to 62 letters and digits.
  ///
  /// Days are counted in UTC since 1970-01-01. Peers are looked for by the tags of the day before and the day after as well.
  public let tag: @Sendable (_ day: Int) -> String

  /// Says what neighbours are told.
  public init(instance: String, port: Int, isIPv4Only: Bool = false, tag: @escaping @Sendable (Int) -> String)
  {
    self.instance = instance
    self.port = port
    self.isIPv4Only = isIPv4Only
    self.tag = tag
  }
}

/// What a discovery finds.
public enum DiscoveryEvent: Hashable, Sendable {
  /// A peer may be at these addresses, which take the place of those that were known of it.
  case found(PeerCandidate)
  /// The peer with this instance is said to be gone, or has not been heard of for too long.
  case lost(String)
  /// All conditions that keep it from finding peers now.
  case conditions(Set<TransportCondition>)
}
