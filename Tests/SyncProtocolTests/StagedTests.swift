import CRDTCore
import DocStore
import ScopePolicy
import SyncProtocol
import TestKit
import Testing

/// A transaction too large for one group arrives in segments and becomes visible at once, whatever happens.
@Suite struct StagedTests {
  private static let collections = ["things", "parts"]

  /// A source and a peer that subscribes to both collections, with groups of at most ten documents.
  private static func pair(
    seed: UInt64, stagedBytes: Int? = nil
  ) throws -> (network: TestNetwork, source: TestPeer, peer: TestPeer) {
    let network = TestNetwork(seed: seed)
    network.configure = {
      $0.tuning.transfers.splitDocuments = 10
      // Each part in a transaction of its own.
      $0.tuning.applying.documents = 10
    }
    network.maximumPiece = 2_000
    let source = try network.addPeer("source")
    let peer = try network.addPeer("peer", stagedBytes: stagedBytes)
    try source.subscribe("SELECT * FROM things", "SELECT * FROM parts")
    try peer.subscribe("SELECT * FROM things", "SELECT * FROM parts")
    return (network, source, peer)
  }

  /// One transaction over both collections that gives all documents this number.
  private static func write(_ number: Int, documents: Int, at peer: TestPeer) throws {
    try peer.write { transaction in
      for index in 0..<documents {
        try transaction.upsert(
          ["n": .int(Int64(number)), "text": .string(String(repeating: "t\(index)", count: 40))],
          id: try DocumentID("d\(index)"), into: collections[index % 2])
      }
    }
  }

  /// The numbers of all documents, which must be one, and their count.
  private static func numbers(at peer: TestPeer) throws -> (Set<Value>, count: Int) {
    let all = try collections.flatMap { try peer.documents(in: $0).values }
    return (Set(all.compactMap { $0["n"] }), all.count)
  }

  /// Expects every commit to leave all documents of one transaction, or none.
  private static func watch(_ peer: TestPeer, documents: Int) {
    peer.onCommit = { _ in
      let (numbers, count) = try numbers(at: peer)
      #expect(numbers.count <= 1 && (count == 0 || count == documents), "\(numbers) in \(count)")
    }
  }

  private static func staged(at peer: TestPeer) throws -> Int {
    try peer.store.read { try $0.stagedIDs().count }
  }

  /// Lets things happen until parts are put aside, and some more.
  private static func stage(_ network: TestNetwork, at peer: TestPeer) throws {
    while try staged(at: peer) == 0 { try #require(try network.step()) }
    for _ in 0..<network.random.int(below: 12) where try staged(at: peer) > 0 { _ = try network.step() }
  }

  /// Expects nothing to be put aside once the sessions that told of it are over, and something is written.
  private static func expectNothingKept(
    _ network: TestNetwork, from source: TestPeer, at peer: TestPeer
  ) throws {
    for end in network.endpoints { network.cut(end) }
    for peer in [source, peer] { peer.onCommit = { _ in } }
    try network.connect(source, peer)
    try source.put("last", ["n": .int(0)])
    try network.settle()
    #expect(try peer.exists("last"))
    #expect(try staged(at: peer) == 0)
  }

  private static func tellsSplit(_ end: Endpoint) -> Bool {
    end.events.contains { if case .groupSplit = $0 { true } else { false } }
  }

  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func `it is seen whole, at a first sync and live`(seed: UInt64) throws {
    let (network, source, peer) = try Self.pair(seed: seed)
    Self.watch(peer, documents: 95)
    try Self.write(1, documents: 95, at: source)
    let (end, _) = try network.connect(source, peer)
    try network.settle()
    #expect(try Self.numbers(at: peer) == ([.int(1)], 95))
    for number in 2...4 { try Self.write(number, documents: 95, at: source) }
    try network.settle()
    #expect(try Self.numbers(at: peer) == ([.int(4)], 95))
    // Nothing was cut up, and nothing is left over.
    #expect(!Self.tellsSplit(end))
    #expect(try Self.staged(at: peer) == 0)
    #expect(try network.debts().map(\.description) == [])
  }

  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func `a cut or a restart in the middle shows nothing, and the next connection all`(seed: UInt64) throws {
    let (network, source, peer) = try Self.pair(seed: seed)
    Self.watch(peer, documents: 95)
    try Self.write(1, documents: 95, at: source)
    var wasStaged = false
    for round in 0..<3 {
      let (end, _) = try network.connect(source, peer)
      let steps = network.random.int(below: 60)
      for _ in 0..<(20 + steps) {
        _ = try network.step()
        wasStaged = try wasStaged || Self.staged(at: peer) > 0
      }
      network.cut(end)
      if round % 2 == 0 { try peer.restart() }
      let (numbers, count) = try Self.numbers(at: peer)
      expect(numbers.count <= 1 && (count == 0 || count == 95))
    }
    try network.connect(source, peer)
    try network.settle()
    #expect(try Self.numbers(at: peer) == ([.int(1)], 95))
    try Self.write(2, documents: 95, at: source)
    try network.settle()
    #expect(try Self.numbers(at: peer) == ([.int(2)], 95))
    #expect(try Self.staged(at: peer) == 0)
  }

  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func `where one of its bases is missing all is asked for in another form`(seed: UInt64) throws {
    let (network, source, peer) = try Self.pair(seed: seed)
    try Self.write(1, documents: 55, at: source)
    let (_, end) = try network.connect(source, peer)
    try network.settle()
    // The changes are on their way when a document goes.
    end.holdsApplies = true
    try Self.write(2, documents: 55, at: source)
    try network.settle()
    try peer.evict("d54")
    end.holdsApplies = false
    try network.settle()
    #expect(try Self.numbers(at: peer) == ([.int(2)], 55))
    #expect(try Self.staged(at: peer) == 0)
  }

  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func `a scope that forbids one of its collections meanwhile leaves no part`(seed: UInt64) throws {
    let (network, source, peer) = try Self.pair(seed: seed)
    try Self.write(1, documents: 95, at: source)
    try network.connect(source, peer)
    for _ in 0..<(10 + network.random.int(below: 60)) { _ = try network.step() }
    let before = try peer.documents(in: "parts").count
    #expect(before == 0 || before == 47)
    _ = try source.scopes.set(["parts": .localPeerOnly])
    for end in source.endpoints { try end.perform(end.session.policyChanged(now: network.now)) }
    try network.settle()
    #expect(try peer.documents(in: "things").count == 48)
    let after = try peer.documents(in: "parts").count
    #expect(after == 0 || after == 47)
    #expect(try Self.staged(at: peer) <= 1)
    _ = try source.scopes.set([:])
    for end in source.endpoints { try end.perform(end.session.policyChanged(now: network.now)) }
    try network.settle()
    #expect(try Self.numbers(at: peer) == ([.int(1)], 95))
  }

  @Test func `without room for its parts it comes in pieces, and says so`() throws {
    let (network, source, peer) = try Self.pair(seed: 1, stagedBytes: 12 << 10)
    try Self.write(1, documents: 195, at: source)
    let (_, end) = try network.connect(source, peer)
    try network.settle()
    #expect(try Self.numbers(at: peer) == ([.int(1)], 195))
    #expect(Self.tellsSplit(end))
    #expect(try Self.staged(at: peer) == 0)
  }

  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func `what one peer has begun another one brings whole`(seed: UInt64) throws {
    let (network, source, peer) = try Self.pair(seed: seed)
    let other = try network.addPeer("other")
    try other.subscribe("SELECT * FROM things", "SELECT * FROM parts")
    Self.watch(other, documents: 95)
    try Self.write(1, documents: 95, at: source)
    let (between, _) = try network.connect(source, other)
    try network.settle()
    network.cut(between)
    Self.watch(peer, documents: 95)
    let (end, _) = try network.connect(source, peer)
    try Self.stage(network, at: peer)
    network.cut(end)
    try network.connect(other, peer)
    try network.settle()
    #expect(try Self.numbers(at: peer) == ([.int(1)], 95))
    try Self.expectNothingKept(network, from: other, at: peer)
  }

  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func `both of two peers bring it at once, and it is seen whole`(seed: UInt64) throws {
    let (network, source, peer) = try Self.pair(seed: seed)
    let other = try network.addPeer("other")
    try other.subscribe("SELECT * FROM things", "SELECT * FROM parts")
    try Self.write(1, documents: 95, at: source)
    try network.connect(source, other)
    try network.settle()
    Self.watch(peer, documents: 95)
    try network.connect(source, peer)
    try network.connect(other, peer)
    try network.settle()
    try Self.write(2, documents: 95, at: source)
    try network.settle()
    #expect(try Self.numbers(at: peer) == ([.int(2)], 95))
    #expect(try Self.staged(at: peer) == 0)
    #expect(try network.debts().map(\.description) == [])
  }

  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func `a crash between the last part put aside and the publishing shows nothing`(seed: UInt64) throws {
    let (network, source, peer) = try Self.pair(seed: seed)
    try Self.write(1, documents: 95, at: source)
    let (end, there) = try network.connect(source, peer)
    // All parts but the last one are in the store.
    while try !network.hasStaged(9, at: peer) { try #require(try network.step()) }
    there.holdsApplies = true
    try network.run(steps: 200)
    network.cut(end)
    try peer.restart()
    #expect(try Self.numbers(at: peer).count == 0)
    #expect(try Self.staged(at: peer) == 1)
    Self.watch(peer, documents: 95)
    try network.connect(source, peer)
    try network.settle()
    #expect(try Self.numbers(at: peer) == ([.int(1)], 95))
    try Self.expectNothingKept(network, from: source, at: peer)
  }

  /// What happens to a document of a transaction of which some parts are put aside.
  enum Meddling: CaseIterable {
    case changedThere, changedHere, removedThere, removedHere, evictedThere, evictedHere
  }

  @Test(arguments: Meddling.allCases, 1...3 as ClosedRange<UInt64>)
  func `what happens to its documents meanwhile is kept`(_ meddling: Meddling, seed: UInt64) throws {
    let (network, source, peer) = try Self.pair(seed: seed)
    try source.subscribe("SELECT * FROM things", "SELECT * FROM parts")
    try Self.write(1, documents: 55, at: source)
    try network.connect(source, peer)
    try network.settle()
    try Self.write(2, documents: 55, at: source)
    try Self.stage(network, at: peer)
    switch meddling {
    case .changedThere: try source.put("d4", ["more": .int(7)])
    case .changedHere: try peer.put("d4", ["more": .int(7)])
    case .removedThere: try source.remove("d4")
    case .removedHere: try peer.remove("d4")
    case .evictedThere: try source.evict("d4")
    case .evictedHere: try peer.evict("d4")
    }
    try network.settle()
    #expect(try network.debts().map(\.description) == [])
    let isRemoved = meddling == .removedThere || meddling == .removedHere
    #expect(try Self.numbers(at: peer) == ([.int(2)], isRemoved ? 54 : 55))
    for side in [source, peer] {
      let document = try side.document("d4")
      switch meddling {
      case .changedThere, .changedHere: expectEqual(document?["more"], .int(7))
      case .removedThere, .removedHere: expect(document == nil)
      case .evictedThere, .evictedHere: expectEqual(document?["n"], .int(2))
      }
    }
    #expect(try Self.staged(at: peer) == 0)
  }

  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func `a cursor does not pass what is only put aside`(seed: UInt64) throws {
    let (network, source, peer) = try Self.pair(seed: seed * 2)
    try Self.write(1, documents: 95, at: source)
    let (first, _) = try network.connect(source, peer)
    try network.settle()
    try network.wait(.seconds(10))
    try network.settle()
    try Self.write(2, documents: 95, at: source)
    try Self.stage(network, at: peer)
    // Time in which cursors are written.
    for _ in 0..<3 where try Self.staged(at: peer) > 0 {
      try network.wait(.seconds(5))
      _ = try network.step()
    }
    network.cut(first)
    try peer.restart()
    Self.watch(peer, documents: 95)
    try network.connect(source, peer)
    try network.settle()
    #expect(try Self.numbers(at: peer) == ([.int(2)], 95))
    #expect(try network.debts().map(\.description) == [])
  }

  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func `a subscription that ends meanwhile takes in what is left of it`(seed: UInt64) throws {
    let (network, source, peer) = try Self.pair(seed: seed)
    try Self.write(1, documents: 95, at: source)
    try network.connect(source, peer)
    try Self.stage(network, at: peer)
    try peer.subscribe("SELECT * FROM things")
    try network.settle()
    #expect(try peer.documents(in: "things").count == 48)
    #expect([0, 47].contains(try peer.documents(in: "parts").count))
    try peer.subscribe("SELECT * FROM things", "SELECT * FROM parts")
    try network.settle()
    #expect(try Self.numbers(at: peer) == ([.int(1)], 95))
    #expect(try network.debts().map(\.description) == [])
  }

  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func `a scope that the receiver sets meanwhile shows nothing in part`(seed: UInt64) throws {
    let (network, source, peer) = try Self.pair(seed: seed)
    Self.watch(peer, documents: 95)
    try Self.write(1, documents: 95, at: source)
    try network.connect(source, peer)
    try Self.stage(network, at: peer)
    // It keeps back what goes out, not what comes in.
    _ = try peer.scopes.set(["parts": .localPeerOnly])
    for end in peer.endpoints { try end.perform(end.session.policyChanged(now: network.now)) }
    try network.settle()
    #expect(try Self.numbers(at: peer) == ([.int(1)], 95))
    #expect(try Self.staged(at: peer) == 0)
  }

  @Test func `parts that were forgotten before the last one come again`() throws {
    let (network, source, peer) = try Self.pair(seed: 4)
    try Self.write(1, documents: 95, at: source)
    let (_, there) = try network.connect(source, peer)
    try Self.stage(network, at: peer)
    there.holdsApplies = true
    for id in try peer.store.read({ try $0.stagedIDs() }) {
      _ = try peer.store.write { try $0.unstage(id) }
    }
    there.holdsApplies = false
    Self.watch(peer, documents: 95)
    try network.settle()
    #expect(try Self.numbers(at: peer) == ([.int(1)], 95))
    #expect(try Self.staged(at: peer) == 0)
  }

  @Test func `ten megabytes in a hundred thousand documents take the memory of some parts`() throws {
    let network = TestNetwork(seed: 7)
    network.configure = { $0.tuning.transfers.splitBytes = 1 << 20 }
    let source = try network.addPeer("source")
    let peer = try network.addPeer("peer")
    try peer.subscribe("SELECT * FROM things")
    let text = Value.string(String(repeating: "x", count: 48))
    try source.write { transaction in
      for index in 0..<100_000 {
        try transaction.upsert(["t": text], id: try DocumentID(.int(Int64(index))), into: "things")
      }
    }
    let (_, there) = try network.connect(source, peer)
    var counts: Set<Int> = []
    var most = 0
    peer.onCommit = { counts.insert($0.changes.count) }
    while try network.step() { most = max(most, there.session.footprint.unappliedBytes) }
    #expect(counts == [100_000])
    #expect(most > 0 && most <= 3 << 20)
    #expect(try Self.staged(at: peer) == 0)
  }
}

extension TestNetwork {
  /// Whether so many parts of one group are put aside.
  fileprivate func hasStaged(_ parts: Int, at peer: TestPeer) throws -> Bool {
    try peer.store.read { transaction in
      for id in try transaction.stagedIDs() {
        var found: Set<UInt32> = []
        try transaction.forEachStaged(of: id) { piece, _ in
          found.insert(piece >> 10)
          return true
        }
        if found.count >= parts { return true }
      }
      return false
    }
  }
}
