public import SyncProtocol
import Transports

/// A request to sync with another peer, before sync starts.
public struct DunlinConnectionRequest: Hashable, Sendable {
  /// The device's public key, which it has proved to have; `nil` with the development identity.
  public let peerKey: String?
  /// The user that the application's authority has named in the device's certificate.
  public let user: String?
  /// The name that the peer gives itself.
  public let deviceName: String
  /// A device or the cloud peer: proved by a certificate, otherwise what the peer says.
  public let kind: DunlinPeerKind
  /// What carries the connection, for example `tcp` or `ws`.
  public let connectionKind: String
  /// The address of the other end.
  public let address: String
  /// Whether the other peer made the connection.
  public let isIncoming: Bool

  init(_ request: ConnectionRequest) {
    peerKey = request.identity?.key.description
    user = request.identity?.user
    deviceName = request.peer.name
    kind = request.peer.kind
    connectionKind = request.endpoint.kind
    address = request.endpoint.description
    isIncoming = request.direction == .incoming
  }
}

/// The decision whether this peer syncs with another one.
public enum DunlinConnectionAnswer: Hashable, Sendable {
  /// They sync.
  case allow
  /// The connection ends.
  case deny
}
