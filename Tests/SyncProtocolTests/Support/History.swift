import CRDTCore
import DocStore
import ScopePolicy
import SyncProtocol
import TestKit

/// A random history of a few peers.
struct History {
  let network: TestNetwork
  private var random: SeededGenerator
  private let documents: Int
  private let links: [(Int, Int)]
  private var open: [Int: Endpoint] = [:]
  private static let colors = ["red", "blue", "green"]

  init(seed: UInt64, documents: Int = 6) throws {
    var random = SeededGenerator(seed: seed &* 77)
    network = TestNetwork(seed: seed)
    let count = 2 + random.int(below: 3)
    for index in 0..<count { _ = try network.addPeer("p\(index)", random.oneIn(3) ? .big : .small) }
    var links: [(Int, Int)] = []
    for a in 0..<count {
      for b in a + 1..<max(count, a + 1) {
        let isClose = random.oneIn(2) || b == a + 1
        if isClose { links.append((a, b)) }
      }
    }
    self.links = links
    self.documents = documents
    self.random = random
    for peer in network.peers { try subscribe(peer) }
  }

  private mutating func subscribe(_ peer: TestPeer) throws {
    switch random.int(below: 5) {
    case 0: try peer.subscribe("SELECT * FROM things")
    case 1: try peer.subscribe()
    case 2: try peer.subscribe("SELECT * FROM things WHERE color = 'red'", "SELECT * FROM others WHERE n > 3")
    case 3: try peer.subscribe("SELECT * FROM things WHERE color = 'blue' AND n > 2")
    default: try peer.subscribe("SELECT * FROM things WHERE color IN ('red', 'blue')")
    }
  }

  mutating func fill(_ peer: TestPeer) throws {
    for _ in 0..<40 { try write(peer, edits: documents / 40) }
  }

  /// One transaction; drawn edits that contradict each other leave nothing behind.
  private mutating func write(_ peer: TestPeer, edits: Int) throws {
    do {
      try peer.write { transaction in
        for _ in 0..<edits { try edit(transaction) }
      }
    } catch let error as StoreError where error.code == .removedInTransaction {}
  }

  private mutating func edit(_ transaction: WriteTransaction) throws {
    let id = try DocumentID("d\(random.int(below: documents))")
    let collection = random.oneIn(4) ? "others" : "things"
    switch random.int(below: 12) {
    case 0: try transaction.remove(id, in: collection)
    case 1: try transaction.update(id, in: collection, [.increment(["count"], 1)])
    case 2:
      try transaction.upsert(
        ["color": .string(random.pick(Self.colors)), "n": .int(Int64(random.int(below: 6)))], id: id,
        into: collection,
        strategy: .insertDefaultIfAbsent)
    case 3: try transaction.update(id, in: collection, [.remove(["color"])])
    case 4, 5: try transaction.update(id, in: collection, [.set(["n"], .int(Int64(random.int(below: 6))))])
    case 6:
      try transaction.upsert(
        ["pad": .string(String(repeating: "x", count: random.int(below: 3_000)))], id: id, into: collection)
    default:
      try transaction.upsert(
        ["color": .string(random.pick(Self.colors)), "n": .int(Int64(random.int(below: 6)))], id: id,
        into: collection)
    }
  }

  mutating func run(events: Int) throws {
    for _ in 0..<events {
      try event()
      if !random.oneIn(3) { try network.run(steps: random.int(below: 60)) }
    }
  }

  private mutating func event() throws {
    let peer = random.pick(network.peers)
    switch random.int(below: 20) {
    case 0..<9:
      try write(peer, edits: random.oneIn(3) ? 1 + random.int(below: 4) : 1)
    case 9, 10:
      try peer.write { transaction in
        for _ in 0...random.int(below: 3) {
          try transaction.evict(
            try DocumentID("d\(random.int(below: documents))"), in: random.oneIn(4) ? "others" : "things")
        }
      }
    case 11: try subscribe(peer)
    case 12:
      try peer.scopes.set(
        random.oneIn(2)
          ? [:]
          : ["things": random.pick([.bigPeerOnly, .smallPeersOnly, .localPeerOnly]), "others": .allPeers])
      for endpoint in peer.endpoints {
        try endpoint.perform(endpoint.session.policyChanged(now: network.now))
      }
    case 13, 14: cut(random.int(below: links.count))
    default: try connect(random.int(below: links.count))
    }
  }

  private mutating func cut(_ index: Int) {
    if let endpoint = open.removeValue(forKey: index) { network.cut(endpoint) }
  }

  private mutating func connect(_ index: Int) throws {
    guard open[index] == nil else { return }
    let (a, b) = links[index]
    open[index] = try network.connect(network.peers[a], network.peers[b]).0
  }

  /// Connects all links and lets everything happen.
  ///
  /// - Returns: What is wrong then.
  mutating func finish() throws -> [String] {
    for index in links.indices { try connect(index) }
    try network.settle()
    let closed = network.endpoints.compactMap { end in end.closed.map { "\(end.peer.name) closed: \($0)" } }
    let behind = network.endpoints.filter { $0.caughtUp == nil }.map { "\($0.peer.name) never caught up" }
    return try closed + behind + network.debts().map(\.description)
  }
}
