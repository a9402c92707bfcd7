/// Which kinds of peers a collection's documents may flow out to.
public enum SyncScope: String, Hashable, Sendable, CaseIterable {
  /// To every peer; this is the default for a collection that is not named.
  case allPeers = "AllPeers"
  /// To the cloud peer only.
  case bigPeerOnly = "BigPeerOnly"
  /// To devices only.
  case smallPeersOnly = "SmallPeersOnly"
  /// To no peer: the collection stays on this device.
  case localPeerOnly = "LocalPeerOnly"
}
