import CRDTCore
import DocStore
import Failpoints
import SyncProtocol
import TestKit
import Testing

/// Random histories of five peers on every topology: at rest nobody is owed anything.
@Suite struct MeshConvergenceTests {
  enum Topology: CaseIterable {
    case chain, ring, star, tree, complete

    func links(_ count: Int) -> [(Int, Int)] {
      switch self {
      case .chain: (1..<count).map { ($0 - 1, $0) }
      case .ring: (0..<count).map { ($0, ($0 + 1) % count) }
      case .star: (1..<count).map { (0, $0) }
      case .tree: (1..<count).map { (($0 - 1) / 2, $0) }
      case .complete: (0..<count).flatMap { a in (a + 1..<max(count, a + 1)).map { (a, $0) } }
      }
    }
  }

  /// Writes, deletes, evictions and cuts in a drawn order; then all links, and rest.
  private func run(_ topology: Topology, seed: UInt64, events: Int = 70) throws -> [String] {
    let network = TestNetwork(seed: seed)
    var random = SeededGenerator(seed: seed &+ 7)
    let peers = try (0..<5).map { try network.addPeer("p\($0)") }
    for peer in peers {
      try peer.subscribe(random.oneIn(4) ? "SELECT * FROM things WHERE n > 2" : "SELECT * FROM things")
    }
    let links = topology.links(5)
    var open: [Int: Endpoint] = [:]
    func connect(_ index: Int) throws {
      guard open[index] == nil else { return }
      open[index] = try network.connect(peers[links[index].0], peers[links[index].1]).0
    }
    for index in links.indices { try connect(index) }
    for _ in 0..<events {
      let index = random.int(below: links.count)
      switch random.int(below: 12) {
      case 0: if let end = open.removeValue(forKey: index) { network.cut(end) }
      case 1: try connect(index)
      case 2: try network.run(steps: random.int(below: 400))
      case 3: try random.pick(peers).evict("d\(random.int(below: 8))")
      default:
        try random.pick(peers).write { transaction in
          let numbers = Set((0...random.int(below: 3)).map { _ in random.int(below: 8) })
          for number in numbers.sorted() {
            let id = try DocumentID("d\(number)")
            if random.oneIn(9) {
              try transaction.remove(id, in: "things")
            } else {
              let pad = Value.string(String(repeating: "x", count: random.int(below: 200)))
              try transaction.upsert(
                ["n": .int(Int64(random.int(below: 6))), "pad": pad], id: id, into: "things")
            }
          }
        }
        try network.run(steps: random.int(below: 40))
      }
    }
    for index in links.indices { try connect(index) }
    try network.settle()
    return try network.debts().map(\.description) + network.endpoints.compactMap { $0.closed?.description }
  }

  @Test(arguments: Topology.allCases, 1...5 as ClosedRange<UInt64>)
  func `at rest nobody is owed a document`(topology: Topology, seed: UInt64) throws {
    let wrong = try run(topology, seed: seed)
    #expect(wrong.isEmpty, "\(wrong.prefix(3))")
  }

  @Test func `the test sees announcements that are forgotten, and meets what it is for`() throws {
    let planted = FailpointPlan(planting: [SyncDefect.announcementForgotten])
    let wrong = try planted.run {
      try (1...4 as ClosedRange<UInt64>).flatMap { try run(.ring, seed: $0) }
    }
    #expect(!wrong.isEmpty)
    let plan = FailpointPlan()
    let clean = try plan.run {
      try (1...4 as ClosedRange<UInt64>).flatMap { try run(.ring, seed: $0) }
    }
    #expect(clean.isEmpty)
    for point in [SyncPoint.pulledLate, .prunedForwards] { expect(plan.count(of: point) > 0, "\(point)") }
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `it holds with subscriptions, scopes and default data that differ`(seed: UInt64) throws {
    var history = try History(seed: seed)
    if seed % 4 == 0 {
      history.network.maximumPiece = 40
      history.network.configure = {
        $0.liveQueueBytes = 900; $0.initialWindowBytes = 1
      }
    }
    try history.run(events: 60)
    let wrong = try history.finish()
    #expect(wrong.isEmpty, "\(wrong.prefix(5))")
  }

  @Test(arguments: 301...304 as ClosedRange<UInt64>)
  func `no peer of a chain that announces shows part of a transaction`(seed: UInt64) throws {
    var history = try AtomicHistory(seed: seed, peers: 4)
    let wrong = try history.run(events: 60)
    #expect(wrong.isEmpty, "\(wrong.prefix(4))")
  }
}
