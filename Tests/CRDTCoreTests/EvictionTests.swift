@testable import CRDTCore
import CRDTModel
import TestKit
import Testing

@Suite struct EvictionTests {
  @Test func `a site evicts a document, writes to it and resubscribes, and nothing is lost anywhere`() throws
  {
    var phone = Peer(1)
    var cloud = Peer(2)
    var tablet = Peer(3)
    try phone.upsert(["a": .int(1), "b": .int(1), "c": .counter(0), "m": .map(["x": .int(1)])], now: 1_000)
    try phone.update([.set(["a"], .int(2)), .increment(["c"], 5), .set(["m", "y"], .int(2))], now: 2_000)
    try cloud.pull(phone)
    try tablet.pull(cloud)

    phone.evict()
    #expect(try phone.fields == nil)
    try phone.upsert(["b": .int(9), "c": .counter(0)], now: 3_000)
    try phone.update([.increment(["c"], 1)], now: 3_500)
    try tablet.update([.increment(["c"], 2), .set(["t"], .bool(true))], now: 3_600)

    // The subscription brings the document back; the vectors say what each side lacks.
    try phone.pull(cloud)
    try cloud.pull(phone)
    try cloud.pull(tablet)
    try phone.pull(cloud)
    try tablet.pull(cloud)
    let expected: [TextKey: Value] = [
      "a": .int(2), "b": .int(9), "c": .counter(8), "m": .map(["x": .int(1), "y": .int(2)]), "t": .bool(true),
    ]
    for peer in [phone, cloud, tablet] {
      try expectEqual(peer.fields, expected)
      try expectEqual(peer.wire(), cloud.wire())
      expectEqual(peer.document?.summary, cloud.document?.summary)
    }
    // And the repair takes nothing for removed that is not.
    for peer in [phone, cloud, tablet] {
      var repaired = peer
      let wire = try cloud.wire()
      try expect(repaired.repair(wire).isUnchanged)
    }
  }

  /// The same writes by the state itself; one that keeps its first birth is the same writer before and after.
  private func states(keepsBirth: Bool) throws -> (phone: DocumentState, cloud: DocumentState) {
    func stamping(_ now: UInt64) -> Stamping {
      Stamping(site: Peer(1).site, reading: ClockReading(rawValue: now << 16))
    }
    var phone = DocumentState(life: .zero, lifeBirth: .zero, isAlive: false)
    try phone.upsert(["a": .int(1), "b": .int(1)], stamping(1_000))
    var cloud = phone
    let firstBirth = phone.ownBirth
    // Evicted, and written anew.
    phone = DocumentState(life: .zero, lifeBirth: .zero, isAlive: false)
    if keepsBirth { phone.ownBirth = firstBirth }
    try phone.upsert(["b": .int(9)], stamping(3_000))
    let isBack = phone.merge(cloud.delta(lacking: phone.vector))
    let isUp = cloud.merge(phone.delta(lacking: cloud.vector))
    #expect(isBack && isUp)
    return (phone, cloud)
  }

  @Test func `it is the birth of its writer by which a site that evicted loses nothing`() throws {
    let (phone, cloud) = try states(keepsBirth: false)
    #expect(phone.root.visible(at: ["a"]) != nil)
    #expect(phone.summary == cloud.summary)
    // The control: were the writer the site alone, the site would take its own old write for known.
    let (loser, other) = try states(keepsBirth: true)
    #expect(loser.root.visible(at: ["a"]) == nil)
    #expect(loser.summary != other.summary)
  }

  @Test func `a site that gets back only a part of what it wrote claims no more than that`() throws {
    var phone = Peer(1)
    var stale = Peer(2)
    var tablet = Peer(3)
    try phone.upsert(["a": .int(1), "b": .int(1)], now: 1_000)
    try stale.pull(phone)
    try phone.update([.set(["b"], .int(2)), .increment(["c"], 5)], now: 2_000)
    try tablet.pull(phone)
    phone.evict()
    try phone.pull(stale)
    try phone.update([.set(["a"], .int(3)), .increment(["c"], 1)], now: 3_000)
    try phone.pull(tablet)
    try tablet.pull(phone)
    #expect(try phone.fields == ["a": .int(3), "b": .int(2), "c": .counter(6)])
    #expect(try tablet.wire() == phone.wire())
  }

  @Test func `counting again after an eviction loses neither the old nor the new increments`() throws {
    var phone = Peer(1)
    var cloud = Peer(2)
    try cloud.upsert(["x": .null], now: 10)
    try phone.pull(cloud)
    for turn in 1...5 as ClosedRange<Int64> {
      try phone.update([.increment(["c"], turn)], now: UInt64(turn) * 1_000)
      try cloud.pull(phone)
      phone.evict()
      if turn == 3 { try cloud.update([.increment(["c"], 100)], now: 3_500) }
      try phone.pull(cloud)
    }
    #expect(try phone.fields?["c"] == .counter(115))
    #expect(try cloud.fields?["c"] == .counter(115))
  }

  @Test func `a delta for what was evicted meanwhile asks for its base`() throws {
    var phone = Peer(1)
    var cloud = Peer(2)
    try cloud.upsert(["x": .int(1)], now: 10)
    try phone.pull(cloud)
    let known = try phone.vector
    try cloud.update([.set(["y"], .int(2))], now: 20)
    let delta = try cloud.wire(lacking: known)
    phone.evict()
    #expect(try phone.merge(delta).isMissingBase)
    #expect(try phone.fields == nil)
    try phone.upsert(["z": .int(3)], now: 30)
    #expect(try phone.merge(delta).isMissingBase)
    #expect(try phone.fields == ["z": .int(3)])
    try phone.pull(cloud, whole: true)
    #expect(try phone.fields == ["x": .int(1), "y": .int(2), "z": .int(3)])
  }
}
