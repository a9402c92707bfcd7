import CRDTCore
import DocStore
import ScopePolicy
import SyncProtocol
import TestKit
import Testing

/// A session knows up to which commit its peer has everything, whatever the peer subscribes to meanwhile.
@Suite struct SyncProgressTests {
  private static let interests = [
    ["SELECT * FROM things"], ["SELECT * FROM things WHERE n > 1"], ["SELECT * FROM parts"], [],
    ["SELECT * FROM things", "SELECT * FROM parts"],
  ]

  /// A link from a source to a peer, the end at the source being told to hold one thing.
  private static func pair() throws -> (network: TestNetwork, source: TestPeer, peer: TestPeer) {
    let network = TestNetwork()
    let source = try network.addPeer("source")
    let peer = try network.addPeer("peer")
    try source.put("first", ["n": .int(1)])
    return (network, source, peer)
  }

  /// Expects the peer to have all that the source writes next.
  private static func expectConfirmed(
    _ network: TestNetwork, _ source: TestPeer, _ end: Endpoint, pulls: Bool = true
  ) throws {
    try source.put("next", ["n": .int(Int64(network.random.int(below: 1 << 20)))])
    try network.settle()
    let sequence = try source.store.read { $0.sequence }
    #expect(end.session.progress.confirmedSequence == (pulls ? sequence : nil))
    #expect(end.other?.session.progress.isCaughtUp == true)
  }

  @Test(arguments: interests, interests)
  func `a change of subscriptions is confirmed, also one that asks for nothing new`(
    before: [String], after: [String]
  ) throws {
    let (network, source, peer) = try Self.pair()
    try peer.subscribe(before)
    let (end, _) = try network.connect(source, peer)
    try network.settle()
    try Self.expectConfirmed(network, source, end, pulls: !before.isEmpty)
    try peer.subscribe(after)
    try network.settle()
    try Self.expectConfirmed(network, source, end, pulls: !after.isEmpty)
  }

  @Test func `the first commit of a store is confirmed when the peer has it, and not before`() throws {
    let network = TestNetwork()
    let (source, peer) = (try network.addPeer("source"), try network.addPeer("peer"))
    try peer.subscribe("SELECT * FROM things")
    let (end, other) = try network.connect(source, peer)
    try network.settle()
    // The peer has all of an empty store.
    #expect(try source.store.read { $0.sequence } == 0)
    #expect(end.session.progress.confirmedSequence == 0)
    #expect(end.session.delivery.servedSequence == 0)
    other.holdsApplies = true
    try source.put("first", ["n": .int(1)])
    #expect(try source.store.read { $0.sequence } == 1)
    #expect(end.session.delivery.servedSequence == 0)
    try network.settle()
    #expect(try peer.documents().isEmpty)
    #expect(end.session.delivery.servedSequence == 0)
    other.holdsApplies = false
    try network.settle()
    #expect(try peer.documents().count == 1)
    #expect(end.session.delivery.servedSequence == 1)
  }
}
