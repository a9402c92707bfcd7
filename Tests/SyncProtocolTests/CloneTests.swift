import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// Copies of whole disks, which take themselves for one another until they meet, or meet who knows better.
@Suite struct CloneTests {
  private func connect(_ network: TestNetwork, _ a: TestPeer, _ b: TestPeer) throws -> [SyncError.Code?] {
    let (first, second) = try network.connect(a, b)
    try network.settle()
    return [first.closed?.code, second.closed?.code]
  }

  /// Cuts what is left of earlier links, connects all anew, and expects that nothing more is in the way.
  private func meetAgain(_ network: TestNetwork, _ pairs: [(TestPeer, TestPeer)]) throws {
    for endpoint in network.endpoints { network.cut(endpoint) }
    for (a, b) in pairs { try network.connect(a, b) }
    try network.settle()
    expect(network.endpoints.allSatisfy { $0.closed == nil })
  }

  private func expectSame(_ peers: [TestPeer]) throws {
    for peer in peers.dropFirst() { try expectEqual(peer.documents(), peers[0].documents()) }
    #expect(Set(peers.map(\.store.site)).count == peers.count)
  }

  @Test func `clones that both wrote before they meet part, and have the same afterwards`() throws {
    let network = TestNetwork()
    let a = try network.addPeer("a")
    try a.subscribe("SELECT * FROM things")
    for n in 0..<20 { try a.put("\(n)", ["n": .int(Int64(n))]) }
    let twin = try network.addTwin(of: a, "twin")
    try twin.subscribe("SELECT * FROM things")
    let site = a.store.site
    #expect(twin.store.site == site)
    // The same document, another one each, and a new one each.
    for (index, peer) in [a, twin].enumerated() {
      try peer.put("0", ["from\(index)": .int(1)])
      try peer.put("\(index + 1)", ["n": .int(-1)])
      try peer.put("new\(index)", [:])
    }
    #expect(try connect(network, a, twin) == [.cloned, .cloned])
    #expect(a.store.site != site && twin.store.site != site)
    #expect(a.store.identityChange == IdentityChange(reason: .cloned, previousSite: site))
    // Both wrote to one document as the same writer, so each takes the other's write for known. Their
    // versions are equal and their contents differ, until the next comparison settles it.
    for _ in 0..<2 { try meetAgain(network, [(a, twin)]) }
    try expectSame([a, twin])
    for id in ["new0", "new1"] { try expect(a.document(id) != nil) }
    #expect(try a.document("1")?["n"] == .int(-1))
    #expect(try a.document("2")?["n"] == .int(-1))
    // From here on nobody loses anything.
    for (index, peer) in [a, twin].enumerated() { try peer.put("0", ["later\(index)": .int(1)]) }
    try network.settle()
    try expectSame([a, twin])
    #expect(try a.document("0")?.keys.filter { $0.text.hasPrefix("later") }.count == 2)
  }

  @Test func `a clone that others know to be behind is told, and takes a new site`() throws {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    for peer in [a, b] { try peer.subscribe("SELECT * FROM things") }
    for n in 0..<20 { try a.put("\(n)", ["n": .int(Int64(n))]) }
    let twin = try network.addTwin(of: a, "twin")
    try twin.subscribe("SELECT * FROM things")
    try twin.put("3", ["twin": .int(1)])
    try twin.put("of the twin", [:])
    // The twin's writes are not later than this, so the original does not take itself for the copy.
    network.clock.advance(by: 60_000)
    try a.put("4", ["n": .int(-4)])
    let site = a.store.site
    #expect(try connect(network, a, b) == [nil, nil])
    let codes = try connect(network, twin, b)
    #expect(codes[0] == .cloned)
    #expect(a.store.site == site)
    #expect(twin.store.site != site)
    try meetAgain(network, [(a, b), (twin, b)])
    try expectSame([a, b, twin])
    #expect(try a.document("of the twin") != nil)
    #expect(try twin.document("4")?["n"] == .int(-4))
    try twin.put("4", ["twin": .int(2)])
    try a.put("4", ["a": .int(3)])
    try network.settle()
    try expectSame([a, b, twin])
    #expect(try b.document("4") == ["n": .int(-4), "twin": .int(2), "a": .int(3)])
  }

  /// The control: a store that was not put back meets its peer again as who it is.
  @Test(arguments: [true, false])
  func `a restore of a whole disk is noticed by who has met its later writes`(_ isRestored: Bool) throws {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    for peer in [a, b] { try peer.subscribe("SELECT * FROM things") }
    for n in 0..<5 { try a.put("\(n)", ["n": .int(Int64(n))]) }
    try network.connect(a, b)
    try network.settle()
    let disk = try a.copyDisk()
    for n in 3..<8 { try a.put("\(n)", ["n": .int(Int64(-n))]) }
    try network.settle()
    let site = a.store.site
    for endpoint in network.endpoints { network.cut(endpoint) }
    if isRestored { try a.restore(disk) }
    #expect(a.store.site == site)
    let codes = try connect(network, a, b)
    #expect(codes[0] == (isRestored ? .cloned : nil))
    #expect((a.store.site == site) == !isRestored)
    try meetAgain(network, [(a, b)])
    #expect(try a.documents() == b.documents())
    #expect(try a.document("7")?["n"] == .int(-7))
    // Where the restored store writes on, it is not taken for what was written before.
    try a.put("7", ["n": .int(7)])
    try network.settle()
    #expect(try b.document("7")?["n"] == .int(7))
  }

  /// Writes on top of a document from a clock far ahead have stamps above the own clock.
  ///
  /// The second write in a transaction has a stamp above the reading of the transaction.
  @Test func `writes above the own clock are nobody else's`() throws {
    let network = TestNetwork()
    let clock = ManualClock()
    clock.advance(by: 30 * 86_400_000)
    let future = try network.addPeer("future", clock: clock)
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    for peer in [future, a, b] { try peer.subscribe("SELECT * FROM things") }
    try future.put("x", ["n": .int(1)])
    try future.put("gone", [:])
    try future.remove("gone")
    for (one, other) in [(future, a), (a, b)] { try network.connect(one, other) }
    try network.settle()
    let sites = [a, b].map(\.store.site)
    for round in 0..<3 {
      try a.write { tx in
        for n in 0..<3 { try tx.upsert(["n": .int(Int64(n + round))], id: DocumentID("x"), into: "things") }
        try tx.upsert(["n": .int(Int64(round))], id: DocumentID("gone"), into: "things")
      }
      try network.settle()
      try meetAgain(network, [(a, b)])
      expectEqual([a, b].map(\.store.site), sites)
      try expectEqual(b.document("x")?["n"], .int(Int64(2 + round)))
    }
  }

  /// Data received since hello is as late as the peer's data, and is no sign that this store wrote it.
  @Test(arguments: [true, false])
  func `a store is not taken for the one that wrote by what others wrote`(_ hasWritten: Bool) throws {
    let raw = try RawPeer()
    try raw.peer.put("mine", ["n": .int(1)])
    try raw.open(subscribing: "SELECT * FROM things")
    let claimed = try raw.peer.store.read { try $0.highestReading() }
    let clock = ManualClock()
    clock.advance(by: 30 * 86_400_000)
    try raw.sendDocument("x", ["n": .int(2)], at: clock)
    try raw.apply()
    let far = try raw.peer.store.read { try $0.highestReading() }
    #expect(far.milliseconds > claimed.milliseconds + 86_400_000)
    if hasWritten { try raw.peer.put("x", ["n": .int(3)]) }
    raw.send(.seen) { SeenFrame(reading: far, place: nil).encode(to: &$0) }
    #expect(raw.closed?.code == (hasWritten ? nil : .cloned))
  }

  /// The log position reveals a restored store, also where the peer does not resume from its checkpoint.
  ///
  /// The store has written more than it lost, and later, so no HLC timestamp shows it.
  @Test(arguments: [true, false])
  func `a store that was put back and wrote on is found by the log that its peer followed`(isResumed: Bool)
    throws
  {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    for peer in [a, b] { try peer.subscribe("SELECT * FROM things") }
    try a.put("x", ["n": .int(1)])
    try network.connect(a, b)
    try network.settle()
    let disk = try a.copyDisk()
    try a.put("y", ["lost": .int(2)])
    try network.wait(.seconds(40))
    try network.settle()
    for endpoint in network.endpoints { network.cut(endpoint) }
    let site = a.store.site
    try a.restore(disk)
    network.clock.advance(by: 60_000)
    for n in 3..<6 { try a.put("x", ["n": .int(Int64(n))]) }
    if !isResumed { try b.subscribe("SELECT * FROM things", "SELECT * FROM others") }
    let codes = try connect(network, a, b)
    #expect(codes[0] == .cloned)
    try meetAgain(network, [(a, b)])
    #expect(a.store.site != site)
    try expectSame([a, b])
    #expect(try a.document("y") == ["lost": .int(2)])
  }

  @Test func `who hears of the later writes from somebody else first notices, too`() throws {
    let network = TestNetwork()
    let (a, b, c) = (try network.addPeer("a"), try network.addPeer("b"), try network.addPeer("c"))
    for peer in [a, b, c] { try peer.subscribe("SELECT * FROM things") }
    try a.put("x", ["n": .int(1)])
    let disk = try a.copyDisk()
    try a.put("x", ["n": .int(2)])
    try network.connect(a, b)
    try network.connect(b, c)
    try network.settle()
    for endpoint in network.endpoints { network.cut(endpoint) }
    try a.restore(disk)
    let codes = try connect(network, a, c)
    #expect(codes[0] == .cloned)
    try meetAgain(network, [(a, c), (b, c)])
    try expectSame([a, b, c])
  }

  /// Also where nobody says so, or what the store has written meanwhile might be that.
  @Test(arguments: [true, false], [true, false])
  func `a store notices a write of its own that it has not made`(_ isRestored: Bool, hasMetLater: Bool) throws
  {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    for peer in [a, b] { try peer.subscribe("SELECT * FROM things") }
    try a.put("x", ["n": .int(1)])
    let disk = try a.copyDisk()
    try a.put("x", ["n": .int(2)])
    let later = try a.wireDocument("x")
    let site = a.store.site
    if isRestored { try a.restore(disk) }
    // What others wrote later is no sign of what was written here.
    if hasMetLater {
      try b.put("y", ["n": .int(1)])
      let other = try b.wireDocument("y")
      try a.write { _ = try $0.merge(wire: other.span.bytes, id: DocumentID("y"), in: "things") }
    }
    var met = false
    try a.write { transaction in
      _ = try transaction.merge(wire: later.span.bytes, id: DocumentID("x"), in: "things")
      met = transaction.hasMetLaterSelf
    }
    #expect(met == isRestored)
    #expect(a.store.site == site)
  }

  /// The control: where births are not compared, that document hides it.
  @Test(arguments: [true, false], [Planting.nothing, Planting(StoreDefect.birthsNotCompared)])
  func `a document from the future that was edited here hides no copy`(
    _ isCopied: Bool, _ planting: Planting
  ) throws {
    let network = TestNetwork()
    let future = ManualClock()
    future.advance(by: 36_000 * 86_400_000)
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b", clock: future))
    for peer in [a, b] { try peer.subscribe("SELECT * FROM things") }
    try b.put("x", ["n": .int(1)])
    let ahead = try b.wireDocument("x")
    try a.write { _ = try $0.merge(wire: ahead.span.bytes, id: DocumentID("x"), in: "things") }
    try a.put("x", ["m": .int(1)])
    let writer = isCopied ? try network.addTwin(of: a, "twin") : a
    #expect(writer.store.site == a.store.site)
    network.clock.advance(by: 1_000)
    try writer.put("x", ["n": .int(2)])
    let later = try writer.wireDocument("x")
    var met = false
    try a.write { transaction in
      // On the thread that writes.
      _ = try planting.run {
        try transaction.merge(wire: later.span.bytes, id: DocumentID("x"), in: "things")
      }
      met = transaction.hasMetLaterSelf
    }
    #expect(met == (isCopied && planting.isNothing))
  }

  @Test func `a peer that dials itself stays who it is`() throws {
    let network = TestNetwork()
    let a = try network.addPeer("a")
    try a.put("x", [:])
    let site = a.store.site
    #expect(try connect(network, a, a) == [.siteClash, .siteClash])
    #expect(a.store.site == site)
  }
}
