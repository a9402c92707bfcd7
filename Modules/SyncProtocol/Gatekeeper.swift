package import CRDTCore
import Failpoints

/// Queries the gate on behalf of one session; the only source of permission to encode.
///
/// The gate is the sync scopes of this peer and the grant of the other.
package struct Gatekeeper: Sendable {
  private let gate: any SyncGate
  private let peer: PeerKind
  private let access: PeerAccess

  package init(gate: any SyncGate, peer: PeerKind, access: PeerAccess = .everything) {
    self.gate = gate
    self.peer = peer
    self.access = access
  }

  /// Returns permission to encode a document now, or anything that shows that it exists; `nil` if it may not
  /// leave.
  package func clear(_ collection: String, _ id: RawSpan) -> Cleared? {
    clear(collection, isReadable: access.mayRead(collection, id))
  }

  /// Returns permission to encode a document now, or anything that shows that it exists; `nil` if it may not
  /// leave.
  package func clear(_ collection: String, _ id: DocumentID) -> Cleared? {
    clear(collection, id.bytes.span.bytes)
  }

  /// Returns permission to encode documents of a collection together; `nil` if one of them may not leave.
  package func clear(_ collection: String, all ids: some Sequence<DocumentID>) -> Cleared? {
    let isReadable =
      access.partialRule(of: collection).map { rule in ids.allSatisfy { rule.allows($0.bytes.span.bytes) } }
    return clear(collection, isReadable: isReadable ?? access.mayRead(collection))
  }

  /// Returns permission to encode ids, counts and fingerprints of a collection that were gathered without the
  /// documents that the peer may not read.
  package func clear(gathered collection: String) -> Cleared? {
    clear(collection, isReadable: access.mayRead(collection))
  }

  private func clear(_ collection: String, isReadable: Bool) -> Cleared? {
    guard CollectionName.maySync(collection) else { return nil }
    // Asked once: the application may change its scopes at any time.
    let isOpen = isReadable && gate.maySend(collection: collection, to: peer)
    guard isOpen || SyncDefect.gateNotAsked.isPlanted else { return nil }
    check(.sync(10), isOpen, phase: "encoding for a \(peer) peer", "a document leaves without the gate")
    return Cleared(collection: collection)
  }

  /// Returns whether documents of a collection may leave, all or some, for planning; encoding checks again.
  package func maySend(_ collection: String) -> Bool {
    CollectionName.maySync(collection)
      && (SyncDefect.gateNotAsked.isPlanted
        || access.mayRead(collection) && gate.maySend(collection: collection, to: peer))
  }

  /// Returns whether all documents of a collection may leave.
  package func maySendAll(_ collection: String) -> Bool {
    maySend(collection) && access.partialRule(of: collection) == nil
  }

  /// Returns whether a document may leave, for planning; encoding checks again.
  package func maySend(_ collection: String, _ id: DocumentID) -> Bool {
    maySend(collection) && access.mayRead(collection, id.bytes.span.bytes)
  }

  /// Returns whether the peer's grant lets it read a document, whatever the sync scopes say.
  package func mayRead(_ collection: String, _ id: DocumentID) -> Bool {
    mayRead(collection, id.bytes.span.bytes)
  }

  /// Returns whether the peer's grant lets it read a document, whatever the sync scopes say.
  package func mayRead(_ collection: String, _ id: RawSpan) -> Bool { access.mayRead(collection, id) }

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
