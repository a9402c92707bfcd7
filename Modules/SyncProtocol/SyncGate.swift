/// What a peer is: a device, or the cloud peer.
public enum PeerKind: UInt8, Hashable, Sendable, CaseIterable {
  case small = 0
  case big = 1
}

/// What may leave and what may enter: the policy that a session asks for every document.
///
/// A session asks at the moment of encoding, so a changed answer holds for everything not yet sent.
public protocol SyncGate: Sendable {
  /// Whether documents of the collection may flow to a peer of this kind.
  func maySend(collection: String, to peer: PeerKind) -> Bool

  /// Whether documents of the collection may come in from a peer of this kind.
  func mayAccept(collection: String, from peer: PeerKind) -> Bool

  /// Rises with every change of an answer.
  var epoch: UInt64 { get }
}
