import CRDTCore
import ScopePolicy
import SyncProtocol
import Testing

@Suite struct SyncScopesTests {
  @Test(
    arguments: [
      (SyncScope.allPeers, true, true), (.bigPeerOnly, false, true), (.smallPeersOnly, true, false),
      (.localPeerOnly, false, false),
    ])
  func `a scope names the kinds of peers that its collection flows to`(
    scope: SyncScope, small: Bool, big: Bool
  ) throws {
    let scopes = SyncScopes()
    try scopes.set(["notes": scope])
    #expect(scopes.maySend(collection: "notes", to: .small) == small)
    #expect(scopes.maySend(collection: "notes", to: .big) == big)
    #expect(scopes.mayAccept(collection: "notes", from: .small))
  }

  @Test func `a collection that is not named flows to all`() {
    let scopes = SyncScopes()
    #expect(PeerKind.allCases.allSatisfy { scopes.maySend(collection: "notes", to: $0) })
  }

  @Test func `setting replaces the whole map`() throws {
    let scopes = SyncScopes()
    try scopes.set(.map(["a": .string("LocalPeerOnly")]))
    try scopes.set(.map(["b": .string("BigPeerOnly")]))
    #expect(scopes.scopes == ["b": .bigPeerOnly])
    #expect(scopes.value == .map(["b": .string("BigPeerOnly")]))
    #expect(scopes.maySend(collection: "a", to: .small))
  }

  @Test(
    arguments: [
      (
        Value.map(["good": .string("AllPeers"), "__secret": .string("AllPeers")]),
        ScopeError.Code.collectionName
      ),
      (.map(["system:data": .string("AllPeers")]), .collectionName),
      (.map(["": .string("AllPeers")]), .collectionName),
      (.map(["good": .string("allpeers")]), .unknownScope),
      (.map(["good": .int(1)]), .malformed),
      (.string("AllPeers"), .malformed),
    ])
  func `what cannot be set changes nothing`(value: Value, code: ScopeError.Code) throws {
    let scopes = SyncScopes()
    try scopes.set(["good": .localPeerOnly])
    let epoch = scopes.epoch
    let error = #expect(throws: ScopeError.self) { try scopes.set(value) }
    #expect(error?.code == code)
    #expect(scopes.scopes == ["good": .localPeerOnly])
    #expect(scopes.epoch == epoch)
  }

  @Test func `the epoch rises with a change and only then`() throws {
    let scopes = SyncScopes()
    #expect(try scopes.set(["a": .localPeerOnly]))
    let epoch = scopes.epoch
    #expect(try !scopes.set(["a": .localPeerOnly]))
    #expect(scopes.epoch == epoch)
    #expect(try scopes.set([:] as [TextKey: SyncScope]))
    #expect(scopes.epoch > epoch)
  }
}
