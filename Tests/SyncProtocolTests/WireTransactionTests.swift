import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

@Suite struct WireTransactionTests {
  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func `no peer of a chain ever shows part of a transaction`(seed: UInt64) throws {
    var history = try AtomicHistory(seed: seed, peers: 3)
    let wrong = try history.run(events: 60)
    #expect(wrong.isEmpty, "\(wrong.prefix(4))")
  }

  @Test(arguments: 101...103 as ClosedRange<UInt64>)
  func `a peer that subscribes to less shows its part whole`(seed: UInt64) throws {
    var history = try AtomicHistory(
      seed: seed, peers: 3, leafQuery: "SELECT * FROM things WHERE kind = 'even'",
      isOfInterest: { AtomicHistory.kind(of: $0) == "even" })
    let wrong = try history.run(events: 60)
    #expect(wrong.isEmpty, "\(wrong.prefix(4))")
  }

  @Test(arguments: 201...203 as ClosedRange<UInt64>)
  func `small groups that overtake large ones tear nothing`(seed: UInt64) throws {
    var history = try AtomicHistory(seed: seed, peers: 3, documents: 12, paddingBytes: 90_000)
    history.network.configure = { $0.initialWindowBytes = 16 << 10 }
    let wrong = try history.run(events: 50)
    #expect(wrong.isEmpty, "\(wrong.prefix(4))")
  }

  /// All records of transactions go, or those of the first of two that share a document.
  @Test(arguments: [0, 1_800])
  func `a transaction that is forgotten while a peer asks for it still arrives`(lifetime: Int) throws {
    var steps = 0
    var isQuiet = false
    while !isQuiet {
      let network = TestNetwork(seed: UInt64(steps + 1))
      network.configure = { $0.initialWindowBytes = 16 << 10 }
      let a = try network.addPeer("a")
      let b = try network.addPeer("b")
      func commit(_ ids: String...) throws {
        try a.write { transaction in
          for id in ids {
            let padding = Value.string(String(repeating: "p", count: 6_000))
            try transaction.upsert([TextKey(ids[0]): padding], id: try DocumentID(id), into: "things")
          }
        }
      }
      try commit("x", "y")
      try commit("u", "v")
      network.clock.advance(by: 3_600_000)
      try commit("y", "z", "w")
      try b.subscribe("SELECT * FROM things")
      try network.connect(a, b)
      for _ in 0..<steps where !isQuiet { isQuiet = try !network.step() }
      try expectEqual(a.store.statistics().expiry.logEntries, 3)
      a.store.tombstoneLifetime = .seconds(lifetime)
      network.clock.advance()
      try a.store.collect()
      try expectEqual(a.store.statistics().expiry.logEntries, lifetime == 0 ? 0 : 1)
      try network.settle()
      try expectEqual(b.documents(), a.documents(), "after \(steps) steps")
      try expect(network.debts().isEmpty)
      expect(network.endpoints.allSatisfy { $0.closed == nil })
      steps += 1
    }
    #expect(steps > 10)
  }
}
