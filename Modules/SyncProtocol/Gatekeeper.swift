import CRDTCore
import Failpoints

/// Asks the gate on behalf of one session; the only source of what may be encoded.
package struct Gatekeeper: Sendable {
  private let gate: any SyncGate
  private let peer: PeerKind

  package init(gate: any SyncGate, peer: PeerKind) {
    self.gate = gate
    self.peer = peer
  }

  /// Leave to encode one thing of a collection now; `nil` when it may not leave.
  package func clear(_ collection: String) -> Cleared? {
    guard maySend(collection) else { return nil }
    return Cleared(collection: collection)
  }

  /// Whether things of a collection may leave, for planning; encoding asks again.
  package func maySend(_ collection: String) -> Bool {
    CollectionName.maySync(collection)
      && (SyncDefect.gateNotAsked.isPlanted || gate.maySend(collection: collection, to: peer))
  }

  /// Whether documents of a collection may come in.
  package func mayAccept(_ collection: String) -> Bool {
    CollectionName.maySync(collection) && gate.mayAccept(collection: collection, from: peer)
  }
}

/// Leave to encode one document, or ids, of a collection for one peer: used up by the encoder.
///
/// Encoders of documents, ids and hashes take nothing else, so what has not passed the gate cannot be
/// put on the wire.
package struct Cleared: ~Copyable {
  package let collection: String

  fileprivate init(collection: String) { self.collection = collection }
}
