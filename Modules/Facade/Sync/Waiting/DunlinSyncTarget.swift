import CRDTCore
import SyncProtocol
import Transports

/// A set of peers, one of which must meet the condition of a wait.
public enum DunlinSyncTarget: Hashable, Sendable {
  /// Any peer that is, or was, connected with this one.
  case anyPeer
  /// A big peer that is, or was, directly connected with this one.
  case bigPeer
  /// This peer, by its store; after a restore or a copy it is another peer.
  case peer(DunlinPeer)
  /// The device with this public key, which it has proved to own.
  case peerKey(String)

  func covers(_ standing: PeerSyncState) -> Bool {
    switch self {
    case .anyPeer: true
    case .bigPeer: standing.peer.kind == .big
    case .peer(let peer): standing.peer.site.description == peer.id
    case .peerKey(let key): standing.connection.identity?.key.description == key
    }
  }

  /// The text of an error when none of them is connected.
  var absence: String {
    switch self {
    case .anyPeer: "no peer is connected"
    case .bigPeer: "no big peer is connected"
    case .peer(let peer) where peer.deviceName.isEmpty: "the peer \(peer.id) is not connected"
    case .peer(let peer): "\(peer.deviceName) is not connected"
    case .peerKey: "the device with this key is not connected"
    }
  }
}
