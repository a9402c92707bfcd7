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

  /// Stands for all that ``maySend(collection:to:)`` answers about a kind of peer: the same for the same answers, also
  /// after a restart, and another one for others.
  ///
  /// A peer keeps it beside its place in this one's log: what a policy withheld is not in that log's past.
  func fingerprint(toward peer: PeerKind) -> UInt64
}
