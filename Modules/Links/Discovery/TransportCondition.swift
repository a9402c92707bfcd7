/// A condition that keeps a network from reaching peers, for as long as it lasts.
public enum TransportCondition: Hashable, Sendable, CustomStringConvertible {
  /// No active interface of this machine carries multicast: neighbours are not found automatically.
  case noMulticast
  /// Another program uses the port exclusively.
  ///
  /// Neighbours are not found there; or this peer had the port and now listens on another one.
  case portTaken(Int)
  /// The system does not let this process use the local network for discovery, for this reason.
  case discoveryRefused(String)
  /// A big peer was connected at an address of this peer, and none is now.
  case noBigPeer
  /// The last attempt to connect to an address did not lead to a peer; the reason names the address.
  case unreachable(address: String, reason: String)

  public var description: String {
    switch self {
    case .noMulticast: "No network is up that carries multicast: neighbours are not found by themselves"
    case .portTaken(let port): "Another program has port \(port) for itself"
    case .discoveryRefused(let reason): "The system does not let this process find neighbours: \(reason)"
    case .noBigPeer: "No big peer is connected"
    case .unreachable(_, let reason): reason
    }
  }
}
