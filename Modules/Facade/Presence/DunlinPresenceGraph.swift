/// The peers that are present at one moment.
public struct DunlinPresenceGraph: Hashable, Sendable {
  /// This peer.
  public let localPeer: DunlinPeer
  /// The peers that are connected, and those that left within the last five seconds.
  ///
  /// They are sorted by name, then by id.
  public let remotePeers: [DunlinPeer]
}
