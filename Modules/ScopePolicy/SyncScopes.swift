public import CRDTCore
public import SyncProtocol
import Synchronization

/// The sync scopes of this peer, which restrict to which kinds of peers a collection's documents may flow.
///
/// They apply to everything that this peer sends, to any peer: in first sync, in live changes, and for
/// documents that came from other peers. They do not restrict what may come in, and are not stored. Other
/// peers have scopes of their own.
public final class SyncScopes: SyncGate {
  private struct State {
    var scopes: [TextKey: SyncScope] = [:]
    var epoch: UInt64 = 0
  }

  private let state = Mutex(State())

  /// Creates scopes that let every collection flow to every peer.
  public init() {}

  /// The scopes in force; a collection that is not named has `allPeers`.
  public var scopes: [TextKey: SyncScope] { state.withLock { $0.scopes } }

  /// Rises with every change of the scopes.
  public var epoch: UInt64 { state.withLock { $0.epoch } }

  /// Replaces all scopes; a collection that is not named falls back to `allPeers`.
  ///
  /// - Returns: Whether anything has changed; the caller must then notify the sessions
  ///   (`Session.policyChanged`).
  /// - Throws: `collectionName`, with nothing changed.
  @discardableResult
  public func set(_ scopes: [TextKey: SyncScope]) throws(ScopeError) -> Bool {
    for name in scopes.keys.sorted() { try Self.check(name.text) }
    return state.withLock { state in
      guard state.scopes != scopes else { return false }
      state.scopes = scopes
      state.epoch += 1
      return true
    }
  }

  /// Replaces all scopes by names, as `ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES` gives them.
  ///
  /// - Throws: `malformed`, `collectionName`, `unknownScope`, each with nothing changed.
  @discardableResult
  public func set(_ value: Value) throws(ScopeError) -> Bool {
    guard case .map(let map) = value else {
      throw ScopeError(.malformed, "Sync scopes are a map from collections to scopes")
    }
    var scopes: [TextKey: SyncScope] = [:]
    for (name, value) in map.sorted(by: { $0.key < $1.key }) {
      guard case .string(let text) = value else {
        throw ScopeError(.malformed, "The scope of \(name) is not a string", collection: name.text)
      }
      guard let scope = SyncScope(rawValue: text) else {
        let known = SyncScope.allCases.map(\.rawValue).joined(separator: ", ")
        throw ScopeError(
          .unknownScope, "There is no scope \(text); the scopes are \(known)", collection: name.text)
      }
      scopes[name] = scope
    }
    return try set(scopes)
  }

  /// The scopes as `SHOW USER_COLLECTION_SYNC_SCOPES` gives them.
  public var value: Value { .map(scopes.mapValues { .string($0.rawValue) }) }

  public func maySend(collection: String, to peer: PeerKind) -> Bool {
    switch (state.withLock { $0.scopes[collection] } ?? .allPeers, peer) {
    case (.allPeers, _), (.bigPeerOnly, .big), (.smallPeersOnly, .small): true
    case (.bigPeerOnly, .small), (.smallPeersOnly, .big), (.localPeerOnly, _): false
    }
  }

  /// Returns a fingerprint of the collections that are withheld from such a peer, and of nothing else.
  public func fingerprint(toward peer: PeerKind) -> UInt64 {
    let withheld = scopes.keys.filter { !maySend(collection: $0.text, to: peer) }.sorted()
    return withheld.reduce(HashLanes("scopes", seed: 1)) { $0.combined(with: HashLanes($1)) }.first
  }

  public func mayAccept(collection: String, from peer: PeerKind) -> Bool { true }

  private static func check(_ name: String) throws(ScopeError) {
    guard !name.utf8.starts(with: "__".utf8), !name.utf8.starts(with: "system:".utf8) else {
      throw ScopeError(
        .collectionName, "The collection \(name) is the system's, it has no sync scope", collection: name)
    }
    guard (1...Limits.collectionNameBytes).contains(name.utf8.count), !name.utf8.contains(0) else {
      throw ScopeError(
        .collectionName, "A collection's name has 1 to \(Limits.collectionNameBytes) bytes, none zero",
        collection: name)
    }
  }
}
