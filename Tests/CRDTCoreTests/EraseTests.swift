import CRDTCore
import CRDTModel
import TestKit
import Testing

/// Erasure: a deletion that raises the document's floor to its own stamp.
@Suite struct EraseTests {
  private static let horizon = ClockReading(milliseconds: 90_000)

  /// A replica that erased the document at 2,000, and one that never heard of it.
  private func pair() throws -> (eraser: Peer, absent: Peer) {
    var (a, b) = (Peer(1), Peer(2))
    try a.upsert(["x": .string("canary"), "n": .counter(3)], now: 1_000)
    try b.pull(a)
    try a.erase(now: 2_000)
    return (a, b)
  }

  private func holds(_ peer: Peer, _ text: String) -> Bool {
    let (bytes, text) = (peer.record?.bytes ?? [], Array(text.utf8))
    return bytes.indices.contains { bytes[$0...].starts(with: text) }
  }

  @Test func `an erased document is a stamp, and so is what travels of it`() throws {
    let (a, _) = try pair()
    #expect(try a.fields == nil && a.vector.isEmpty && a.verifies && a.isErased)
    #expect(!holds(a, "canary") && a.document?.record.count ?? 100 <= 60)
    let wire = try a.wire()
    #expect(wire.count <= 36)
    try WireDocument.validate(wire.span.bytes)
    #expect(
      try a.wire(
        lacking: VersionVector([.init(writer: Writer(site: a.site, birth: .zero.next), reading: .zero.next)]))
        == wire)
  }

  @Test func `the wire form is one that earlier releases know: a deletion without a writer, and a floor`()
    throws
  {
    let wire = try pair().eraser.wire()
    #expect(wire[0] == 8 | 16)
  }

  @Test func `what was written before it does not come back, and what was written later starts from nothing`()
    throws
  {
    var (a, b) = try pair()
    try a.pull(b)
    #expect(try a.isErased && a.vector.isEmpty && !holds(a, "canary"))
    try b.update([.set(["y"], .string("later"))], now: 3_000)
    try b.pull(a)
    #expect(try b.fields == nil && !holds(b, "canary"))
    try a.pull(b)
    #expect(try a.wire() == b.wire())
    var c = Peer(3)
    try c.upsert(["z": .string("newer")], now: 4_000)
    try c.pull(a)
    #expect(try c.fields == ["y": .string("later"), "z": .string("newer")])
  }

  @Test func `a compacted tombstone keeps the floor, also that of an erasure before the deletion`() throws {
    var (a, b) = try pair()
    try a.upsert(["x": .string("second")], now: 5_000)
    try a.remove(now: 6_000)
    #expect(try a.collect(before: Self.horizon) == .certified(hasLaterWrites: false))
    #expect(try a.floor.reading == ClockReading(milliseconds: 2_000, counter: a.floor.reading.counter))
    try b.upsert(["z": .string("unaware")], now: 7_000)
    try b.pull(a)
    #expect(try b.fields == ["z": .string("unaware")])
    #expect(!holds(b, "canary"))
  }

  @Test func `a document that nobody knows here can be erased`() throws {
    var (a, b) = (Peer(1), Peer(2))
    try b.upsert(["x": .string("canary")], now: 1_000)
    try a.erase(now: 2_000)
    try b.pull(a)
    #expect(try b.isErased && !holds(b, "canary"))
  }

  @Test func `random histories hold nothing that was written before an erasure they know`() throws {
    for seed in 1...300 as ClosedRange<UInt64> {
      expectEqual(try EraseHistory.fault(seed: seed), nil, "seed \(seed)")
    }
  }

  @Test(arguments: [
    EraseHistory.Control.deletionOnly, .certificateForgets, .evictionForgets,
  ])
  func `each part of the rule is needed`(control: EraseHistory.Control) throws {
    let faults = try (1...300 as ClosedRange<UInt64>).filter {
      try EraseHistory.fault(seed: $0, control) != nil
    }
    #expect(!faults.isEmpty)
  }
}
