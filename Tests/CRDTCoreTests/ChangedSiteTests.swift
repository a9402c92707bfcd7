import CRDTCore
import CRDTModel
import TestKit
import Testing

/// A store whose identity was changed, because it is a clone or was restored from a backup.
@Suite struct ChangedSiteTests {
  @Test func `a store that changed its site counts as a new writer of what it holds`() throws {
    var (original, cloud) = (Peer(1), Peer(5))
    try original.upsert(["n": .counter(0), "x": .int(1)], now: 1_000)
    try original.update([.increment(["n"], 5)], now: 1_100)
    try cloud.pull(original)
    var clone = original.changingSite(to: 2)
    var rotated = original.changingSite(to: 3)
    // All from one record, at one time, with one amount: told apart by their sites alone.
    for _ in 0..<2 {
      try clone.update([.increment(["n"], 7)], now: 2_000)
      try rotated.update([.increment(["n"], 7)], now: 2_000)
    }
    #expect(try clone.vector.elements.count == 2)
    for peer in [clone, rotated] { try cloud.pull(peer) }
    #expect(try cloud.fields == ["n": .counter(33), "x": .int(1)])
  }

  @Test func `a restored backup under a new site loses neither its own nor the lost writes`() throws {
    var (phone, cloud) = (Peer(1), Peer(5))
    try phone.upsert(["n": .counter(0)], now: 1_000)
    try phone.update([.increment(["n"], 1)], now: 1_100)
    var restored = phone.changingSite(to: 2)
    try phone.update([.increment(["n"], 10), .set(["x"], .int(1))], now: 1_200)
    try cloud.pull(phone)
    try restored.update([.increment(["n"], 100), .set(["y"], .int(2))], now: 1_150)
    try restored.pull(cloud)
    try cloud.pull(restored)
    #expect(try restored.fields == ["n": .counter(111), "x": .int(1), "y": .int(2)])
    #expect(try cloud.wire() == restored.wire())
  }
}
