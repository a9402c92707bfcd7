package import CRDTCore
package import DocStore
import Failpoints
import Synchronization

/// Queries the gate on behalf of one session; the only source of permission to encode.
///
/// The gate is the sync scopes of this peer and the grant of the other.
package struct Gatekeeper: Sendable {
  private let gate: any SyncGate
  private let peer: PeerKind
  private let access: PeerAccess
  private let resolved = ResolvedRules()

  package init(gate: any SyncGate, peer: PeerKind, access: PeerAccess = .everything) {
    self.gate = gate
    self.peer = peer
    self.access = access
  }

  /// Returns permission to encode a document in the state of `record`, or anything that shows that it exists.
  ///
  /// - Returns: `nil` if it may not leave.
  package func clear(
    _ collection: Collection, _ id: RawSpan, _ record: borrowing RecordView
  ) -> Cleared? {
    clear(collection.name, isReadable: mayRead(collection, id, record))
  }

  /// Returns permission to encode a document in the state of `record`, or anything that shows that it exists.
  ///
  /// - Returns: `nil` if it may not leave.
  package func clear(_ collection: Collection, _ id: DocumentID, _ record: Record) -> Cleared? {
    clear(collection.name, isReadable: mayRead(collection, id, record))
  }

  /// Returns permission to encode documents of a collection together; `nil` if one of them may not leave.
  ///
  /// - Parameters:
  ///   - collection: Their collection.
  ///   - areReadable: Whether the peer may read all of them, each in the state that is encoded.
  /// - Returns: The permission.
  package func clear(_ collection: String, all areReadable: Bool) -> Cleared? {
    clear(collection, isReadable: areReadable)
  }

  /// Returns permission to encode the erasure of a document that the peer could read, or has.
  ///
  /// Nothing of the content is left by which the peer's rule could be asked.
  ///
  /// - Parameter collection: The document's collection.
  /// - Returns: `nil` if nothing of the collection may leave.
  package func clear(erasureIn collection: String) -> Cleared? {
    clear(collection, isReadable: access.mayRead(collection))
  }

  /// Returns permission to name a document that is withdrawn from the peer, which could read it or has it.
  ///
  /// - Parameter collection: The document's collection.
  /// - Returns: `nil` if nothing of the collection may leave.
  package func clear(withdrawnFrom collection: String) -> Cleared? {
    clear(collection, isReadable: access.mayRead(collection))
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

  /// Returns whether the peer's grant lets it read a document in the state of `record`, whatever the sync
  /// scopes say.
  package func mayRead(_ collection: Collection, _ id: RawSpan, _ record: borrowing RecordView) -> Bool {
    guard access.reading != .everything else { return true }
    guard let rule = rule(for: collection) else { return access.mayRead(collection.name) }
    return rule.allows(id, record)
  }

  /// Returns whether the peer's grant lets it read a document in the state of `record`, whatever the sync
  /// scopes say.
  package func mayRead(_ collection: Collection, _ id: DocumentID, _ record: Record) -> Bool {
    record.withView { mayRead(collection, id.bytes.span.bytes, $0) }
  }

  /// Returns whether the peer's grant lets it read the document with an id in some state.
  package func mayRead(_ collection: String, _ id: DocumentID) -> Bool {
    access.mayRead(collection, id.bytes.span.bytes)
  }

  /// Whether a write to a document of the collection can change whether the peer may read it.
  package func dependsOnFields(of collection: String) -> Bool { access.dependsOnFields(of: collection) }

  /// The rule by which the peer may read some documents of a collection; `nil` for all, or none.
  package func rule(for collection: Collection) -> ReadRule? {
    access.partialRule(of: collection.name).map { resolved.rule($0, for: collection) }
  }

  /// Returns whether documents of a collection may come in.
  package func mayAccept(_ collection: String) -> Bool {
    CollectionName.maySync(collection) && gate.mayAccept(collection: collection, from: peer)
  }
}

/// The rules of one peer, with the keys of the collections; shared by copies of a gatekeeper.
private final class ResolvedRules: Sendable {
  private let ready = Mutex<[UInt32: ReadRule]>([:])

  func rule(_ rule: ReadRule, for collection: Collection) -> ReadRule {
    guard rule.dependsOnFields else { return rule }
    return ready.withLock { ready in
      // Modify the value in place: taking it out and putting it back would copy it.
      ready[collection.id, default: rule].resolve(collection.keys)
      return ready[collection.id, default: rule]
    }
  }
}

/// Permission to encode one document, or ids, of a collection for one peer; the encoder consumes it.
///
/// Encoders of documents, ids and hashes require it, so nothing can reach the wire without passing the gate.
package struct Cleared: ~Copyable {
  package let collection: String

  fileprivate init(collection: String) { self.collection = collection }
}
