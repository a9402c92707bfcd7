import CRDTCore
import SyncProtocol
import Transports

/// The peers of which one is to have what is waited for.
public enum DunlinSyncTarget: Hashable, Sendable {
  /// Any peer that is, or was, connected with this one.
  case anyPeer
  /// A big peer that is, or was, connected with this one itself.
  case bigPeer
  /// This peer, by its store: after a restore or a copy it is another one.
  case peer(DunlinPeer)
  /// The device with this public key, which it has proved to have.
  case peerKey(String)

  func covers(_ standing: PeerStanding) -> Bool {
    switch self {
    case .anyPeer: true
    case .bigPeer: standing.peer.kind == .big
    case .peer(let peer): standing.peer.site.description == peer.id
    case .peerKey(let key): standing.connection.identity?.key.description == key
    }
  }

  /// What an error says where none of them is connected.
  var absence: String {
    switch self {
    case .anyPeer: "no peer is connected"
    case .bigPeer: "no big peer is connected"
    case .peer(let peer): "\(peer.deviceName) is not connected"
    case .peerKey: "the device with this key is not connected"
    }
  }
}
