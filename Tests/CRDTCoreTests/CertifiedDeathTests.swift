import CRDTCore
import CRDTModel
import TestKit
import Testing

/// Deletions whose tombstones were collected: only their stamps are left.
@Suite struct CertifiedDeathTests {
  private static let horizon = ClockReading(milliseconds: 5_000)

  /// A replica that deleted the document at 2,000 and collected the tombstone, and one that never heard.
  private func pair() throws -> (certified: Peer, absent: Peer) {
    var (a, b) = (Peer(1), Peer(2))
    try a.upsert(["x": .int(1), "n": .counter(3)], now: 1_000)
    try b.pull(a)
    try a.remove(now: 2_000)
    #expect(try a.collect(before: Self.horizon) == .certified(hasLaterWrites: false))
    return (a, b)
  }

  @Test func `a certificate is a small tombstone with an empty vector`() throws {
    let (a, _) = try pair()
    #expect(try a.fields == nil && a.vector.isEmpty && a.verifies)
    #expect(try #require(a.document?.record.count) <= 60)
    let wire = try a.wire()
    #expect(wire.count <= 32)
    try WireDocument.validate(wire.span.bytes)
    var copy = Peer(3)
    try copy.merge(wire)
    #expect(try copy.wire() == wire)
    #expect(copy.document?.summary == a.document?.summary)
  }

  @Test func `a tombstone is kept while anything in it is younger than the horizon`() throws {
    var (a, b) = (Peer(1), Peer(2))
    try a.upsert(["x": .int(1)], now: 1_000)
    try b.pull(a)
    try a.remove(now: 2_000)
    try b.update([.set(["x"], .int(2))], now: 6_000)
    try a.pull(b)
    #expect(try a.collect(before: Self.horizon) == .unchanged)
    #expect(try a.collect(before: ClockReading(milliseconds: 7_000)) == .certified(hasLaterWrites: true))
  }

  @Test func `a document that comes back from a long absence dies of the certificate`() throws {
    var (a, b) = try pair()
    try b.pull(a)
    #expect(try b.fields == nil)
    try a.pull(b)
    #expect(try a.fields == nil)
    // Both know the same: who has the deletion's writer from a tombstone keeps it.
    try b.pull(a, whole: true)
    #expect(try a.wire() == b.wire())
    #expect(a.document?.summary == b.document?.summary)
  }

  @Test func `what was written meanwhile is kept, and a newer upsert brings back the whole document`() throws
  {
    var (a, b) = try pair()
    try b.update([.set(["y"], .int(2)), .increment(["n"], 4)], now: 3_000)
    var c = b
    try b.pull(a)
    #expect(try b.fields == nil)
    try c.upsert(["z": .int(3)], now: 3_500)
    for (first, second) in [(b, c), (c, b)] {
      var peer = first
      try peer.pull(second)
      try peer.pull(a)
      try expectEqual(peer.fields, ["x": .int(1), "y": .int(2), "n": .counter(7), "z": .int(3)])
    }
  }

  @Test func `an insert over a certificate starts afresh, everywhere`() throws {
    var (a, b) = try pair()
    try a.upsert(["new": .int(1)], now: 6_000)
    #expect(try a.fields == ["new": .int(1)])
    try b.pull(a)
    #expect(try b.fields == ["new": .int(1)])
    try a.pull(b)
    #expect(try a.wire() == b.wire())
  }

  @Test func `an insert over a certificate is stamped above it, however far ahead it is`() throws {
    var future = Peer(9)
    try future.upsert(["x": .int(1)], now: 4_000_000_000_000)
    try future.remove(now: 4_000_000_000_001)
    try future.collect(before: ClockReading(milliseconds: 4_000_000_000_002))
    var a = Peer(1)
    try a.pull(future)
    try a.upsert(["new": .int(1)], .insertIfAbsent, now: 1_000)
    try future.pull(a)
    #expect(try a.fields == ["new": .int(1)] && future.fields == a.fields)
  }

  @Test func `default data over a certificate writes nothing, and does not live`() throws {
    var (a, b) = (try pair().certified, Peer(3))
    #expect(try !a.upsert(["x": .int(9)], .insertDefaultIfAbsent))
    try b.upsert(["x": .int(9)], .insertDefaultIfAbsent)
    try a.pull(b)
    try b.pull(a)
    #expect(try a.fields == nil && b.fields == nil)
    #expect(try a.wire() == b.wire())
  }

  @Test func `certificates, tombstones and living documents merge in every order alike`() throws {
    var (a, b) = (Peer(1), Peer(2))
    try a.upsert(["x": .int(1)], now: 1_000)
    try b.pull(a)
    try b.update([.set(["y"], .int(2))], now: 1_500)
    try a.remove(now: 2_000)
    let tombstone = try a.wire()
    try a.collect(before: Self.horizon)
    let certificate = try a.wire()
    var c = b
    try c.upsert(["z": .int(3)], now: 3_000)
    for other in [try b.wire(), try c.wire()] {
      try expectJoinLaws((tombstone, certificate, other)) { x, y in
        var peer = Peer(99)
        try peer.merge(x)
        try peer.merge(y)
        return try peer.wire()
      }
    }
  }
}
