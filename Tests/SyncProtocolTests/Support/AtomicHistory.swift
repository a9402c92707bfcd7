import CRDTCore
import DocStore
import SyncProtocol
import TestKit

/// Transactions that mark every document they touch, on a chain of peers: at every commit of every peer each
/// transaction is visible on all of its documents that the peer subscribes to, or on none.
struct AtomicHistory {
  let network: TestNetwork
  private var random: SeededGenerator
  private var open: [Int: Endpoint] = [:]
  private let ledger = Ledger()
  private let documents: Int
  private let paddingBytes: Int

  /// Which documents each transaction marked.
  final class Ledger {
    var members: [String: Set<String>] = [:]
    var torn: [String] = []
  }

  /// Makes a chain whose last peer subscribes to `leafQuery`, which selects what `isOfInterest`.
  ///
  /// The other peers select everything.
  init(
    seed: UInt64, peers: Int, documents: Int = 24, paddingBytes: Int = 0,
    leafQuery: String = "SELECT * FROM things",
    isOfInterest: @escaping (String) -> Bool = { _ in true }
  ) throws {
    network = TestNetwork(seed: seed)
    random = SeededGenerator(seed: seed &+ 1_000)
    self.documents = documents
    self.paddingBytes = paddingBytes
    for index in 0..<peers {
      let peer = try network.addPeer("p\(index)")
      let isLeaf = index == peers - 1
      try peer.subscribe(isLeaf ? leafQuery : "SELECT * FROM things")
      peer.onCommit = { [ledger, unowned peer] _ in
        try ledger.check(peer, isOfInterest: isLeaf ? isOfInterest : { _ in true })
      }
    }
  }

  mutating func run(events: Int) throws -> [String] {
    for _ in 0..<events {
      switch random.int(below: 8) {
      case 0..<4: try transaction()
      case 4:
        if let end = open.removeValue(forKey: random.int(below: network.peers.count - 1)) { network.cut(end) }
      case 5: try connect(random.int(below: network.peers.count - 1))
      default: try network.run(steps: random.int(below: 80))
      }
    }
    for index in 0..<network.peers.count - 1 { try connect(index) }
    try network.settle()
    return try ledger.torn + network.debts().map(\.description)
      + network.endpoints.compactMap { end in end.closed.map { "\($0)" } }
  }

  private mutating func connect(_ index: Int) throws {
    guard open[index] == nil else { return }
    open[index] = try network.connect(network.peers[index], network.peers[index + 1]).0
  }

  private mutating func transaction() throws {
    let name = "t\(ledger.members.count)"
    let padding = Value.string(
      String(repeating: "p", count: random.oneIn(4) ? random.int(below: paddingBytes + 1) : 0))
    let ids = Set((0..<2 + random.int(below: 4)).map { _ in "d\(random.int(below: documents))" })
    ledger.members[name] = ids
    try random.pick(network.peers).write { transaction in
      for id in ids.sorted() {
        let kind = Value.string(AtomicHistory.kind(of: id))
        try transaction.upsert(
          ["kind": kind, TextKey(name): padding], id: try DocumentID(id), into: "things")
      }
    }
  }

  /// A document's kind never changes.
  static func kind(of id: String) -> String { id.utf8.reduce(0) { $0 &+ Int($1) } % 2 == 0 ? "even" : "odd" }
}

extension AtomicHistory.Ledger {
  func check(_ peer: TestPeer, isOfInterest: (String) -> Bool) throws {
    let held = try peer.documents()
    for (name, ids) in members {
      let concerned = ids.filter(isOfInterest)
      let seen = concerned.filter { held[$0]?[name] != nil }
      if !seen.isEmpty, seen.count < concerned.count {
        torn.append("\(peer.name) sees \(name) on \(seen.sorted()) of \(concerned.sorted())")
      }
    }
  }
}
