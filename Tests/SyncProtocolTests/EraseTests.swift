import CRDTCore
import DocStore
import Foundation
import SyncProtocol
import TestKit
import Testing

/// Erasures reach every peer that has the document, and nothing that was written before comes back.
@Suite struct EraseTests {
  private static let day: UInt64 = 86_400_000
  private static let all = "SELECT * FROM things"
  private static let canary = "a canary that must not sing"

  /// Three peers in a row, all with the document `x`.
  private func row() throws -> (network: TestNetwork, peers: [TestPeer]) {
    let network = TestNetwork()
    let peers = try ["a", "b", "c"].map { try network.addPeer($0) }
    for peer in peers { try peer.subscribe(Self.all) }
    try peers[0].put("x", ["name": .string(Self.canary), "n": .int(1)])
    try peers[0].put("y", ["n": .int(1)])
    try network.connect(peers[0], peers[1])
    try network.connect(peers[1], peers[2])
    try network.settle()
    for peer in peers { try expect(peer.document("x") != nil) }
    return (network, peers)
  }

  private func erase(_ peer: TestPeer) throws {
    try peer.write { _ = try $0.erase(DocumentID("x"), in: "things") }
  }

  /// Compacts the store of a peer, and searches its file for the text.
  private func holdsCanary(_ peer: TestPeer) throws -> Bool {
    try peer.store.compact()
    let file = try Data(contentsOf: peer.file)
    return file.range(of: Data(Self.canary.utf8)) != nil
  }

  private func expectErased(_ peers: [TestPeer]) throws {
    for peer in peers {
      try expect(peer.document("x") == nil)
      try expect(!holdsCanary(peer))
      try expectEqual(peer.documents().count, 1)
    }
  }

  @Test func `in session it reaches all peers, and none of their files has the content`() throws {
    let (network, peers) = try row()
    try erase(peers[0])
    try network.settle()
    try expectErased(peers)
  }

  @Test func `a document that was removed before is erased at connected peers, too`() throws {
    let (network, peers) = try row()
    try peers[0].remove("x")
    try network.settle()
    try erase(peers[0])
    try network.settle()
    try expectErased(peers)
  }

  @Test(arguments: [false, true])
  func `a peer that was away loses its copy, whatever is left of the erasure`(isForgotten: Bool) throws {
    let (network, peers) = try row()
    for end in network.endpoints { network.cut(end) }
    try erase(peers[0])
    if isForgotten {
      network.clock.advance(by: 40 * Self.day)
      try peers[0].forget()
      #expect(try peers[0].store.read { try $0.certificateCount() } == 1)
    }
    for peer in peers { try peer.distribute() }
    // The old copy meets the peer that has heard of it from both sides.
    try network.connect(peers[1], peers[2])
    try network.settle()
    try network.connect(peers[0], peers[1])
    try network.settle()
    try expectErased(peers)
  }

  @Test func `a later write of a peer that was away starts an empty document everywhere`() throws {
    let (network, peers) = try row()
    for end in network.endpoints { network.cut(end) }
    try erase(peers[0])
    network.clock.advance(by: 1_000)
    try peers[2].put("x", ["n": .int(2)])
    try network.connect(peers[0], peers[1])
    try network.connect(peers[1], peers[2])
    try network.settle()
    for peer in peers {
      try expectEqual(peer.document("x"), ["n": .int(2)])
      try expect(!holdsCanary(peer))
    }
  }

  @Test func `another meeting has nothing more to say`() throws {
    let (network, peers) = try row()
    try erase(peers[0])
    try network.settle()
    for end in network.endpoints { network.cut(end) }
    let first = network.endpoints.count
    try network.connect(peers[0], peers[1])
    try network.settle()
    let sent = network.endpoints.dropFirst(first).map(\.sentBytes)
    for end in network.endpoints { network.cut(end) }
    let second = network.endpoints.count
    try network.connect(peers[0], peers[1])
    try network.settle()
    #expect(network.endpoints.dropFirst(second).allSatisfy { $0.sentBytes <= (sent.max() ?? 0) })
  }
}
