import SyncProtocol
import Testing

@Suite struct GroupTests {
  @Test(arguments: 1...16 as ClosedRange<UInt64>)
  func `no peer of a chain ever shows part of a transaction`(seed: UInt64) throws {
    var history = try AtomicHistory(seed: seed, peers: 3)
    let wrong = try history.run(events: 60)
    #expect(wrong.isEmpty, "\(wrong.prefix(4))")
  }

  @Test(arguments: 101...108 as ClosedRange<UInt64>)
  func `a peer that subscribes to less shows its part whole`(seed: UInt64) throws {
    var history = try AtomicHistory(
      seed: seed, peers: 3, leafQuery: "SELECT * FROM things WHERE kind = 'even'",
      isOfInterest: { AtomicHistory.kind(of: $0) == "even" })
    let wrong = try history.run(events: 60)
    #expect(wrong.isEmpty, "\(wrong.prefix(4))")
  }

  @Test(arguments: 201...205 as ClosedRange<UInt64>)
  func `small groups that overtake large ones tear nothing`(seed: UInt64) throws {
    var history = try AtomicHistory(seed: seed, peers: 3, documents: 12, paddingBytes: 90_000)
    history.network.configure = { $0.initialWindowBytes = 16 << 10 }
    let wrong = try history.run(events: 50)
    #expect(wrong.isEmpty, "\(wrong.prefix(4))")
  }
}
