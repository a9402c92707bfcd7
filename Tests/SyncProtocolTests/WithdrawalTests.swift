import CRDTCore
import DocStore
import QueryLanguage
import ScopePolicy
import TestKit
import Testing

@testable import SyncProtocol

/// Rules on fields: a document can become readable or be hidden by a write, and is then withdrawn.
@Suite struct WithdrawalTests {
  /// Lets a peer read the documents of `things` whose field `f` begins with its name.
  ///
  /// The field is both what the rule reads and all that tells documents apart, so a state that leaks shows.
  static func access(_ peer: TestPeer) -> PeerAccess {
    guard peer.kind == .small, peer.name != "desk" else { return .everything }
    return access(for: peer.name)
  }

  private static func access(for name: String) -> PeerAccess {
    var union = PredicateUnion()
    do {
      union.insert(try SubscriptionQuery(dql: "SELECT * FROM things WHERE f LIKE '\(name):%'").compiled)
    } catch {
      Issue.record("\(error)")
    }
    let rule = ReadRule(fingerprint: HashLanes(name).first, allows: union)
    return PeerAccess(
      reading: .collections(["things": rule, "open": .all]), runsStatements: false, hearsPresence: true)
  }

  static func network(seed: UInt64 = 1) -> TestNetwork {
    let network = TestNetwork(seed: seed)
    network.configure = { $0.compressionLevel = 0 }
    network.access = access
    return network
  }

  /// The frames that go to a restricted peer and have a state that it may not read.
  private final class Watch {
    var leaks: [String] = []
    /// What each peer was sent, by its name.
    var frames: [String: [[UInt8]]] = [:]

    init(_ network: TestNetwork) {
      network.onSend = { [unowned self] end, bytes in
        guard let receiver = end.other?.peer, WithdrawalTests.access(receiver) != .everything else { return }
        frames[receiver.name, default: []].append(bytes)
        let text = String(decoding: bytes, as: UTF8.self)
        for other in ["ann", "bob", "desk"] where other != receiver.name {
          if text.contains("\(other):MARK") || text.contains("only-\(other)") {
            leaks.append("of \(other) from \(end.peer.name) to \(receiver.name)")
          }
        }
      }
    }

    func count(_ type: FrameType, to name: String) -> Int {
      frames[name, default: []].count { FrameType(of: $0) == type }
    }
  }

  private struct Closed: Error {}

  /// Permission to name anything of a collection.
  private func cleared(_ collection: String = "things") throws -> Cleared {
    guard let cleared = Gatekeeper(gate: SyncScopes(), peer: .small).clear(withdrawnFrom: collection) else {
      throw Closed()
    }
    return cleared
  }

  private func put(_ id: String, _ owner: String, at peer: TestPeer, _ value: Int = 0) throws {
    try peer.put(id, ["f": .string("\(owner):MARK-\(value)")])
  }

  private func owned(_ documents: [String: [TextKey: Value]], by owner: String) -> [String: [TextKey: Value]]
  {
    documents.filter {
      if case .string(let text)? = $0.value["f"] { text.hasPrefix("\(owner):") } else { false }
    }
  }

  /// A cloud, a desk and two devices, of which all subscribe to everything.
  private struct World {
    let network: TestNetwork
    let watch: Watch
    let cloud, desk, ann, bob: TestPeer

    init(seed: UInt64 = 1) throws {
      network = WithdrawalTests.network(seed: seed)
      watch = Watch(network)
      cloud = try network.addPeer("cloud", .big)
      desk = try network.addPeer("desk")
      ann = try network.addPeer("ann")
      bob = try network.addPeer("bob")
      for peer in [cloud, desk, ann, bob] { try peer.subscribe("SELECT * FROM things", "SELECT * FROM open") }
    }
  }

  @Test(arguments: 1...24 as ClosedRange<UInt64>)
  func `a peer has what its rule allows and nothing else, whatever happens`(seed: UInt64) throws {
    let world = try World(seed: seed)
    let (network, cloud, desk, ann, bob) = (world.network, world.cloud, world.desk, world.ann, world.bob)
    var random = SeededGenerator(seed: seed)
    let owners = ["ann", "bob", "desk"]
    for number in 0..<20 { try put("shared-\(number)", owners[number % 3], at: cloud) }
    for owner in owners { try put("only-\(owner)", owner, at: cloud) }
    var ends: [Endpoint] = []
    func connectAll() throws {
      for peer in [desk, ann, bob] { ends.append(try network.connect(peer, cloud).0) }
      if random.int(below: 10) < 5 { ends.append(try network.connect(ann, bob).0) }
    }
    try connectAll()
    for round in 1...8 {
      for _ in 0..<8 {
        let writer = [cloud, desk, ann, bob][random.int(below: 4)]
        // Devices change what they have, and hand it over; they also write new documents of others.
        let here = try writer.documents().keys.filter { $0.hasPrefix("shared") }.sorted()
        let isNew = random.int(below: 6) == 0
        let id = isNew ? "shared-\(random.int(below: 40))" : here.randomElement(using: &random)
        guard let id else { continue }
        switch random.int(below: 9) {
        case 0: if try writer.exists(id) { try writer.remove(id) }
        case 1:
          try writer.write { write in
            for other in here.prefix(3) {
              let owner = owners[random.int(below: 3)]
              try write.upsert(
                ["f": .string("\(owner):MARK-group-\(round)")], id: try DocumentID(other), into: "things")
            }
          }
        default: try put(id, owners[random.int(below: 3)], at: writer, round)
        }
      }
      try cloud.put("open-\(round)", ["n": .int(Int64(round))], in: "open")
      if random.int(below: 10) < 4, let end = ends.randomElement(using: &random) {
        network.cut(end)
        ends.removeAll { $0 === end }
      }
      if random.int(below: 10) < 3 {
        for end in ends { network.cut(end) }
        ends = []
        if random.int(below: 10) < 5 { try [cloud, ann, bob][random.int(below: 3)].restart() }
      }
      try network.run(steps: random.int(below: 200))
      if ends.count < 2 {
        for end in ends { network.cut(end) }
        ends = []
        try connectAll()
      }
    }
    for end in ends { network.cut(end) }
    ends = []
    try connectAll()
    try network.settle()
    #expect(world.watch.leaks.filter { !$0.contains("from ann") && !$0.contains("from bob") } == [])
    let all = try cloud.documents()
    expectEqual(try desk.documents(), all, "what the desk has")
    for peer in [ann, bob] {
      expectEqual(try peer.documents(), owned(all, by: peer.name), "what \(peer.name) has")
      expectEqual(try peer.documents(in: "open").count, 8, "what \(peer.name) has of open")
    }
  }

  @Test func `a document that is handed over goes, once, and comes back with a later state`() throws {
    let world = try World()
    try put("a", "ann", at: world.cloud)
    try world.network.connect(world.cloud, world.ann)
    try world.network.settle()
    #expect(try world.ann.exists("a"))
    try put("a", "bob", at: world.cloud)
    try world.network.settle()
    #expect(try !world.ann.exists("a"))
    #expect(world.watch.count(.withdraw, to: "ann") == 1)
    let (frames, transactions) = (
      world.watch.frames["ann"]?.count ?? 0, world.watch.count(.fragment, to: "ann")
    )
    for value in 1...3 { try put("a", "bob", at: world.cloud, value) }
    try world.network.settle()
    #expect(
      world.watch.count(.withdraw, to: "ann") == 1 && world.watch.count(.fragment, to: "ann") == transactions)
    #expect(world.watch.frames["ann"]?.count ?? 0 <= frames + 6)
    try put("a", "ann", at: world.cloud, 9)
    try world.network.settle()
    #expect(try world.ann.document("a") == world.cloud.document("a"))
    #expect(world.watch.leaks == [])
  }

  @Test func `a document that is handed over while its reader is away goes when the reader returns`() throws {
    let world = try World()
    try put("a", "ann", at: world.cloud)
    try put("b", "ann", at: world.cloud)
    let end = try world.network.connect(world.cloud, world.ann).0
    try world.network.settle()
    try world.network.wait(.seconds(30))
    world.network.cut(end)
    try put("a", "bob", at: world.cloud)
    try world.network.connect(world.cloud, world.ann)
    try world.network.settle()
    #expect(try !world.ann.exists("a") && world.ann.exists("b"))
    #expect(world.watch.leaks == [])
  }

  @Test func `thousands of documents that one transaction hides go`() throws {
    let world = try World()
    func writeAll(_ owner: String) throws {
      try world.cloud.write { write in
        for number in 0..<1_500 {
          try write.upsert(["f": .string("\(owner):MARK")], id: try DocumentID("d\(number)"), into: "things")
        }
      }
    }
    try writeAll("ann")
    try put("mine", "ann", at: world.cloud)
    try world.network.connect(world.cloud, world.ann)
    try world.network.settle()
    #expect(try world.ann.documents().count == 1_501)
    try writeAll("bob")
    try world.network.settle()
    #expect(try world.ann.documents().keys.sorted() == ["mine"])
    #expect(world.watch.leaks == [])
  }

  @Test func `what a device has changed reaches a carrier before the document goes`() throws {
    let world = try World()
    try world.cloud.put("a", ["f": .string("ann:MARK"), "n": .int(1)])
    let end = try world.network.connect(world.cloud, world.ann).0
    try world.network.settle()
    world.network.cut(end)
    try put("a", "bob", at: world.cloud)
    try world.ann.put("a", ["n": .int(2)])
    // A document that it has never been allowed to read is its own until the carrier has it.
    try put("new", "bob", at: world.ann)
    try world.network.connect(world.cloud, world.ann)
    try world.network.settle()
    #expect(try world.cloud.document("a")?["n"] == .int(2))
    #expect(try world.cloud.exists("new"))
    #expect(try !world.ann.exists("a") && !world.ann.exists("new"))
    #expect(world.watch.leaks == [])
  }

  @Test func `an own change without a writer of the carrier's copy does not show that copy`() throws {
    let world = try World()
    try put("a", "bob", at: world.cloud)
    try world.network.connect(world.cloud, world.ann)
    try world.network.settle()
    let before = world.watch.count(.withdraw, to: "ann")
    try world.ann.put("b", ["f": .string("ann:MARK"), "n": .int(1)])
    try world.network.settle()
    #expect(try world.ann.exists("b") && world.watch.count(.withdraw, to: "ann") == before)
  }

  @Test func `an older copy does not come back from another peer`() throws {
    let world = try World()
    try put("a", "ann", at: world.desk)
    let far = try world.network.connect(world.desk, world.cloud).0
    try world.network.settle()
    world.network.cut(far)
    let end = try world.network.connect(world.cloud, world.ann).0
    try world.network.settle()
    try put("a", "bob", at: world.cloud)
    try world.network.settle()
    #expect(try !world.ann.exists("a"))
    world.network.cut(end)
    for _ in 1...2 {
      let near = try world.network.connect(world.desk, world.ann).0
      try world.network.settle()
      try expect(!world.ann.exists("a"), "it stays away")
      world.network.cut(near)
    }
    // With another grant it takes what it is sent.
    _ = try world.ann.store.write { try $0.forgetWithdrawals() }
    world.network.access = { _ in .everything }
    try world.network.connect(world.desk, world.ann)
    try world.network.settle()
    #expect(try world.ann.exists("a"))
  }

  @Test func `what a small peer has withdrawn comes back from a big one`() throws {
    let world = try World()
    try put("a", "ann", at: world.cloud)
    var far = try world.network.connect(world.cloud, world.ann).0
    try world.network.settle()
    let near = try world.network.connect(world.ann, world.desk).0
    try world.network.settle()
    let known = try world.cloud.version(of: "a")
    let withdrawal = Withdrawal(try cleared(), id: try DocumentID("a"), known: known)
    try near.receive(.withdraw) { Withdrawal.encode([withdrawal], to: &$0) }
    try world.network.run(steps: 200)
    #expect(try !world.ann.exists("a"))
    world.network.cut(far)
    far = try world.network.connect(world.cloud, world.ann).0
    try world.network.settle()
    #expect(try world.ann.exists("a"))
  }

  @Test func `a removal and an erasure reach who could read the document`() throws {
    let world = try World()
    for id in ["a", "b", "c"] { try put(id, "ann", at: world.cloud) }
    let end = try world.network.connect(world.cloud, world.ann).0
    try world.network.settle()
    try world.cloud.remove("a")
    try world.cloud.write { _ = try $0.erase(try DocumentID("b"), in: "things") }
    try world.network.settle()
    #expect(try !world.ann.exists("a") && !world.ann.exists("b"))
    world.network.cut(end)
    try world.cloud.write { _ = try $0.erase(try DocumentID("c"), in: "things") }
    try world.network.connect(world.cloud, world.ann)
    try world.network.settle()
    #expect(try !world.ann.exists("c"))
  }

  /// Sends a peer a withdrawal of a document that it has, and returns whether the document is still there.
  private func stays(
    obeying: Bool, from kind: PeerKind, writtenHere: Bool, beyond: Bool = false
  ) throws -> Bool {
    let network = TestNetwork(seed: 1)
    network.configure = { $0.obeysWithdrawals = obeying }
    let ann = try network.addPeer("ann")
    let other = try network.addPeer("other", kind)
    for peer in [ann, other] { try peer.subscribe("SELECT * FROM things") }
    try (writtenHere ? ann : other).put("a", ["n": .int(1)])
    let end = try network.connect(ann, other).0
    try network.settle()
    let known = try ann.version(of: "a")
    if beyond {
      try other.put("a", ["n": .int(2)])
      try network.settle()
    }
    let withdrawal = Withdrawal(try cleared(), id: try DocumentID("a"), known: known)
    try end.receive(.withdraw) { Withdrawal.encode([withdrawal], to: &$0) }
    try network.run(steps: 200)
    return try ann.exists("a")
  }

  @Test func `only a peer with a grant obeys, and only as far as nothing can be lost`() throws {
    #expect(try !stays(obeying: true, from: .big, writtenHere: false))
    #expect(try !stays(obeying: true, from: .big, writtenHere: true))
    #expect(try !stays(obeying: true, from: .small, writtenHere: false))
    #expect(try stays(obeying: true, from: .small, writtenHere: true))
    #expect(try stays(obeying: false, from: .big, writtenHere: false))
    #expect(try stays(obeying: true, from: .big, writtenHere: false, beyond: true))
  }

  @Test func `a made-up version of a hidden document hears what one of no document hears`() throws {
    let world = try World()
    try put("hidden", "bob", at: world.cloud)
    let end = try world.network.connect(world.cloud, world.ann).0
    try world.network.settle()
    func answer(_ id: String, _ vector: VersionVector) throws -> [FrameType?] {
      let have = DocumentHave(try cleared(), id: try DocumentID(id), hash: 7, vector: vector)
      let before = world.watch.frames["ann"]?.count ?? 0
      try end.receive(.have) { DocumentHave.encode([have], reconciliation: 0, seen: 0, to: &$0) }
      try world.network.settle()
      return world.watch.frames["ann", default: []].dropFirst(before).map { FrameType(of: $0) }
    }
    let site = SiteID(high: 7, low: 9)
    let reading = ClockReading(rawValue: 1 << 40)
    let made = VersionVector([
      VersionVector.Element(writer: Writer(site: site, birth: reading), reading: reading)
    ])
    for vector in [VersionVector(), made] {
      expectEqual(try answer("hidden", vector), try answer("absent", vector), "\(vector)")
    }
    #expect(world.watch.count(.withdraw, to: "ann") == 0)
  }

  @Test func `withdrawals are read as they were written`() throws {
    let site = SiteID(high: 7, low: 9)
    let element = VersionVector.Element(
      writer: Writer(site: site, birth: ClockReading(rawValue: 3)), reading: ClockReading(rawValue: 5))
    var withdrawals: [Withdrawal] = []
    for (collection, vector) in [
      ("a", VersionVector()), ("a", VersionVector([element])), ("b", VersionVector()),
    ] {
      withdrawals.append(Withdrawal(try cleared(collection), id: try DocumentID("x"), known: vector))
    }
    var out = ByteWriter()
    Withdrawal.encode(withdrawals, to: &out)
    var reader = ByteReader(out.bytes.span.bytes)
    #expect(try Withdrawal.decode(from: &reader) == withdrawals && reader.isAtEnd)
    for count in 0..<out.count {
      var cut = ByteReader(out.bytes.span.bytes.extracting(0..<count))
      #expect(throws: CodecError.self) { _ = try Withdrawal.decode(from: &cut) }
    }
  }
}

extension TestPeer {
  /// The version of a document of `things`; empty where it is not here.
  fileprivate func version(of id: String) throws -> VersionVector {
    try store.read { snapshot in
      guard let known = try snapshot.collection("things") else { return VersionVector() }
      let sites = snapshot.sites
      return try snapshot.withRecord(known, try DocumentID(id)) { record, _ in
        try record.vector(sites: sites)
      } ?? VersionVector()
    }
  }
}
