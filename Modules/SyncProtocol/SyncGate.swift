/// The kind of a peer: a device, or the big peer in the cloud.
public enum PeerKind: UInt8, Hashable, Sendable, CaseIterable {
  case small = 0
  case big = 1
}

/// The policy of what may leave and enter, which a session checks for every document.
///
/// A session checks when it encodes, so a changed answer applies to everything not yet sent.
public protocol SyncGate: Sendable {
  /// Returns whether documents of the collection may flow to a peer of this kind.
  func maySend(collection: String, to peer: PeerKind) -> Bool

  /// Returns whether documents of the collection may come in from a peer of this kind.
  func mayAccept(collection: String, from peer: PeerKind) -> Bool

  /// A number that rises with every change of an answer.
  var epoch: UInt64 { get }

  /// Returns a fingerprint of all answers of ``maySend(collection:to:)`` for a kind of peer.
  ///
  /// Equal answers have equal fingerprints, even after a restart, and different answers have different ones.
  /// A peer stores it with its checkpoint in this peer's log, because the log does not show what a policy
  /// withheld.
  func fingerprint(toward peer: PeerKind) -> UInt64
}
