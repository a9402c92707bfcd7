import CRDTCore
import CRDTModel
import TestKit
import Testing

/// What a site has written since another had all, sent without asking what that has.
@Suite struct LaterWritesTests {
  private typealias Script = RecordPatchTests.Script

  /// What `peer` sends to who has met its writes up to a reading.
  private func base(of peer: Peer, after met: ClockReading) throws -> VersionVector {
    let vector = try peer.vector
    guard let record = peer.record else { return vector }
    return record.withView {
      $0.version(vector, beforeWritesOf: peer.site, after: met, sites: peer.tables.sites)
    }
  }

  private func met(_ site: SiteID, at peer: Peer) throws -> ClockReading {
    try peer.vector.elements.filter { $0.writer.site == site }.map(\.reading).max() ?? .zero
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `later writes come on top of what was there, to the same as what is lacking`(block: UInt64) throws {
    var (sent, least) = (0, 0)
    for seed in block * 50..<(block + 1) * 50 {
      var script = try Script(seed: seed)
      for _ in 0..<12 {
        let (sender, receiver) = script.random.generator.oneIn(2) ? (0, 1) : (1, 0)
        try script.peers[receiver].pull(script.peers[sender])
        let met = try met(script.peers[sender].site, at: script.peers[receiver])
        for index in [sender, sender, receiver] where !script.random.generator.oneIn(4) {
          script.now += UInt64(script.random.generator.int(below: 3))
          _ = try? script.peers[index].update([script.edit()], now: script.now)
        }
        let base = try base(of: script.peers[sender], after: met)
        let before = script.peers[receiver]
        try expect(before.vector.dominates(base), "seed \(seed)")
        try script.peers[receiver].merge(script.peers[sender].wire(lacking: base))
        var other = before
        try other.merge(script.peers[sender].wire(lacking: try before.vector))
        try expectEqual(script.peers[receiver].state, other.state, "seed \(seed)")
        sent += try script.peers[sender].wire(lacking: base).count
        least += try script.peers[sender].wire(lacking: try before.vector).count
      }
    }
    // Parts of the document that are sent once more are few.
    #expect(sent < least * 3, "\(sent) bytes for \(least)")
  }

  @Test func `who has met later writes has the whole version, and who has met none nothing of the site`()
    throws
  {
    var peer = Peer(1)
    try peer.upsert(["a": .int(1), "b": .int(2)], .merge, now: 1_000)
    let first = try met(peer.site, at: peer)
    #expect(try base(of: peer, after: first) == peer.vector)
    #expect(try base(of: peer, after: .zero).isEmpty)
    try peer.update([.set(["a"], .int(3))], now: 5_000)
    let writer = try #require(try peer.vector.elements.first).writer
    let expected = VersionVector([.init(writer: writer, reading: first)])
    #expect(try base(of: peer, after: first) == expected)
    #expect(try base(of: peer, after: ClockReading(milliseconds: 5_000, counter: .max)) == peer.vector)
  }
}
