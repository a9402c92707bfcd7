import CRDTCore
import Failpoints

/// Queries the gate on behalf of one session; the only source of permission to encode.
package struct Gatekeeper: Sendable {
  private let gate: any SyncGate
  private let peer: PeerKind
  private let access: PeerAccess

  package init(gate: any SyncGate, peer: PeerKind, access: PeerAccess = .everything) {
    self.gate = gate
    self.peer = peer
    self.access = access
  }

  /// Returns permission to encode one item of a collection now; `nil` if it may not leave.
  package func clear(_ collection: String) -> Cleared? {
    guard CollectionName.maySync(collection) else { return nil }
    // Asked once: the application may change its scopes at any time.
    let isOpen = access.mayRead(collection) && gate.maySend(collection: collection, to: peer)
    guard isOpen || SyncDefect.gateNotAsked.isPlanted else { return nil }
    check(.sync(10), isOpen, phase: "encoding for a \(peer) peer", "a collection leaves without the gate")
    return Cleared(collection: collection)
  }

  /// Returns whether a collection may leave, for planning; encoding checks again.
  package func maySend(_ collection: String) -> Bool {
    CollectionName.maySync(collection)
      && (SyncDefect.gateNotAsked.isPlanted
        || access.mayRead(collection) && gate.maySend(collection: collection, to: peer))
  }

  /// Returns whether documents of a collection may come in.
  package func mayAccept(_ collection: String) -> Bool {
    CollectionName.maySync(collection) && gate.mayAccept(collection: collection, from: peer)
  }
}

/// Permission to encode one document, or ids, of a collection for one peer; the encoder consumes it.
///
/// Encoders of documents, ids and hashes require it, so nothing can reach the wire without passing the gate.
package struct Cleared: ~Copyable {
  package let collection: String

  fileprivate init(collection: String) { self.collection = collection }
}
