import SyncProtocol
import Testing

/// Random histories on random topologies; at rest no direction of any link owes a document.
@Suite struct ConvergenceTests {
  @Test(arguments: Array(1...14) + [68 as UInt64])
  func `at rest nobody is owed a document, whatever happened before`(seed: UInt64) throws {
    var history = try History(seed: seed)
    try history.run(events: 60)
    let wrong = try history.finish()
    #expect(wrong.isEmpty, "\(wrong.prefix(5))")
  }

  @Test(arguments: Array(101...104) + [116 as UInt64])
  func `it holds for many documents too`(seed: UInt64) throws {
    var history = try History(seed: seed, documents: 400)
    for peer in history.network.peers { try history.fill(peer) }
    try history.run(events: 50)
    let wrong = try history.finish()
    #expect(wrong.isEmpty, "\(wrong.prefix(5))")
  }

  @Test(arguments: Array(201...206) + [1_015, 3_017, 3_043 as UInt64])
  func `it holds when bytes trickle and queues overflow`(seed: UInt64) throws {
    var history = try History(seed: seed)
    history.network.maximumPiece = 40
    history.network.configure = {
      $0.liveQueueBytes = 900; $0.initialWindowBytes = 1
    }
    try history.run(events: 60)
    let wrong = try history.finish()
    #expect(wrong.isEmpty, "\(wrong.prefix(5))")
  }
}
