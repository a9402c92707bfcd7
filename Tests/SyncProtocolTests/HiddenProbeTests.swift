import CRDTCore
import DocStore
import ScopePolicy
import TestKit
import Testing

@testable import SyncProtocol

/// A peer that tries out the ids of documents that it may not read does not learn which of them exist.
@Suite struct HiddenProbeTests {
  private struct Closed: Error {}

  /// Lets a peer read the documents of `things` whose ids begin with `mine:`.
  private static let access: PeerAccess = {
    let prefix = Array("mine:".utf8)
    let rule = ReadRule(fingerprint: 1) { id in
      guard case .string(let text)? = try? DocumentID.decode(id) else { return false }
      return text.utf8.starts(with: prefix)
    }
    return PeerAccess(reading: .collections(["things": rule]), runsStatements: false, hearsPresence: true)
  }()

  private func cleared() throws -> Cleared {
    guard
      let cleared = Gatekeeper(gate: SyncScopes(), peer: .small, access: .everything).clear(
        gathered: "things")
    else {
      throw Closed()
    }
    return cleared
  }

  /// Opens a session with a peer of which the store wants all, and which has nothing.
  private func open(_ access: PeerAccess) throws -> RawPeer {
    let raw = try RawPeer { $0.access = access }
    try raw.open(subscribing: "SELECT * FROM things")
    raw.send(.answer) { out in
      out.writeVarint(1)
      if access.mayRead("things") {
        out.writeVarint(2)
        RangeAnswer.nothing(for: .rest(1, KeyRange(collection: "things"))).encode(to: &out)
        RangeAnswer.equal(2).encode(to: &out)
      } else {
        out.writeVarint(1)
        RangeAnswer.equal(1).encode(to: &out)
      }
    }
    raw.send(.settled) { $0.writeVarint(1) }
    try #require(raw.closed == nil)
    return raw
  }

  /// Returns the sizes of the requests of a store that holds `other:1` when the peer sends something.
  private func requests(_ access: PeerAccess, _ send: (RawPeer) throws -> Void) throws -> [Int] {
    let raw = try open(access)
    try raw.peer.put("other:1", ["n": .int(1)])
    raw.perform(raw.session.committed(raw.peer.takeCommits(), now: raw.now))
    try send(raw)
    try #require(raw.closed == nil)
    return raw.sent(.want).map(\.count)
  }

  @Test(arguments: [false, true])
  func `what is asked for of an announcement does not show what is stored`(leaves: Bool) throws {
    func announce(_ id: String, to raw: RawPeer) throws {
      let document = AnnouncedDocument(
        try cleared(), id: try DocumentID(id), vector: VersionVector(), hash: 7, leaves: leaves)
      raw.send(.announce) { Announcement([[document]]).encode(to: &$0) }
    }
    for access in [Self.access, .nothing] {
      let hidden = try requests(access) { try announce("other:1", to: $0) }
      let absent = try requests(access) { try announce("other:2", to: $0) }
      expect(hidden.count == 1, "an announced document is asked for")
      expectEqual(hidden, absent, "what is asked for")
    }
  }

  @Test func `what is asked for of an offer does not show what is stored`() throws {
    func offer(_ id: String, to raw: RawPeer) throws {
      let offer = DocumentOffer(try cleared(), item: DocumentHash(id: try DocumentID(id), hash: 7))
      raw.send(.offer) { DocumentOffer.encode([offer], to: &$0) }
    }
    for access in [Self.access, .nothing] {
      let hidden = try requests(access) { try offer("other:1", to: $0) }
      let absent = try requests(access) { try offer("other:2", to: $0) }
      expect(hidden.count == 1, "an offered document is asked for")
      expectEqual(hidden, absent, "what is asked for")
    }
  }

  @Test func `commits of what a peer may not read at all begin no comparison with it`() throws {
    let raw = try open(.nothing)
    let before = raw.frames.count
    try raw.peer.put("other:1", ["n": .int(1)])
    try raw.peer.evict("other:1")
    raw.perform(raw.session.committed(raw.peer.takeCommits(), now: raw.now))
    raw.tick(after: .milliseconds(500))
    #expect(raw.frames.count == before)
  }

  /// Returns what a peer is sent of three transactions, each of which has a document of its own and another.
  private func trace(_ others: [String]) throws -> [[UInt8]] {
    let network = TestNetwork(seed: 3)
    network.configure = { $0.compressionLevel = 0 }
    network.access = { $0.name == "ann" ? Self.access : .everything }
    var trace: [[UInt8]] = []
    network.onSend = { end, bytes in if end.other?.peer.name == "ann" { trace.append(bytes) } }
    let cloud = try network.addPeer("cloud", .big)
    let ann = try network.addPeer("ann")
    for peer in [cloud, ann] { try peer.subscribe("SELECT * FROM things") }
    for (number, other) in zip(0..., others) {
      try cloud.write { write in
        try write.upsert(["n": .int(0)], id: try DocumentID("mine:\(number)"), into: "things")
        try write.upsert(["n": .int(Int64(number))], id: try DocumentID(other), into: "things")
      }
    }
    try network.connect(cloud, ann)
    try network.settle()
    #expect(try ann.documents().count == others.count)
    return trace
  }

  @Test func `what transactions share that a peer may not read does not bind what it may read`() throws {
    let one = try trace(["other:1", "other:1", "other:1"])
    let three = try trace(["other:1", "other:2", "other:3"])
    #expect(one == three)
  }

  /// Returns whether so many requests for documents make a sender lose track of what the peer may hold.
  private func losesTrack(_ ids: [String]) throws -> Bool {
    let network = TestNetwork(seed: 1)
    network.configure = { $0.tuning.possibleHolders = 1 }
    network.access = { $0.name == "ann" ? Self.access : .everything }
    let cloud = try network.addPeer("cloud", .big)
    let ann = try network.addPeer("ann")
    for peer in [cloud, ann] { try peer.subscribe("SELECT * FROM things") }
    for id in ["mine:1", "other:1", "other:2"] { try cloud.put(id, ["n": .int(1)]) }
    let (end, _) = try network.connect(cloud, ann)
    try network.settle()
    try #require(!end.session.pusher.peer.watch.isBlind)
    let wants = try ids.map { DocumentWant(whole: try DocumentID($0), in: "things", isHeld: true) }
    try end.receive(.want) {
      WantList(
        reconciliation: 0, seen: 0, isTransaction: false, isGraft: false, goesOn: false, wants: wants
      ).encode(to: &$0)
    }
    try network.settle()
    return end.session.pusher.peer.watch.isBlind
  }

  @Test func `requests for what may not be read are remembered like those for what is not there`() throws {
    #expect(try losesTrack(["other:1", "other:2"]) == losesTrack(["other:3", "other:4"]))
    #expect(try losesTrack(["other:1", "other:2"]))
  }

  /// Returns the answers to two requests for a filter of what a store holds.
  private func filters(_ count: Int) throws -> [[UInt8]] {
    let raw = try open(Self.access)
    try raw.peer.write { write in
      for number in 0..<count {
        try write.upsert(["n": .int(1)], id: try DocumentID("other:\(number)"), into: "things")
      }
    }
    raw.perform(raw.session.committed(raw.peer.takeCommits(), now: raw.now))
    for number in 1...2 {
      raw.send(.filterWanted) { out in
        out.write(1)
        out.writeVarint(number)
        out.writeString("things")
        out.writeVarint(100)
        out.writeVarint(1 << 30)
      }
    }
    try #require(raw.closed == nil)
    return raw.sent(.filter)
  }

  @Test func `how often a filter is made does not show how many documents may not be read`() throws {
    let few = try filters(1)
    #expect(few.count == 2)
    #expect(few == (try filters(500)))
  }

  /// A walk of at most four documents examines at most 128.
  @Test(arguments: [(20, true), (200, false)])
  func `a commit of many documents that may not be read ends no walk through the log, up to a limit`(
    hidden: Int, resumes: Bool
  ) throws {
    let network = TestNetwork(seed: 1)
    network.configure = { $0.tuning.walkedDocuments = 4 }
    network.access = { $0.name == "ann" ? Self.access : .everything }
    var sent: [FrameType] = []
    network.onSend = { end, bytes in
      if end.other?.peer.name == "ann", let type = FrameType(of: bytes) { sent.append(type) }
    }
    let cloud = try network.addPeer("cloud", .big)
    let ann = try network.addPeer("ann")
    for peer in [cloud, ann] { try peer.subscribe("SELECT * FROM things") }
    try cloud.put("mine:1", ["n": .int(1)])
    let (end, _) = try network.connect(cloud, ann)
    try network.settle()
    network.cut(end)
    try cloud.write { write in
      for number in 0..<hidden {
        try write.upsert(["n": .int(1)], id: try DocumentID("other:\(number)"), into: "things")
      }
      try write.upsert(["n": .int(2)], id: try DocumentID("mine:1"), into: "things")
    }
    sent = []
    try network.connect(cloud, ann)
    try network.settle()
    #expect(sent.contains(.resumed))
    #expect(sent.contains(.answer) == !resumes)
    #expect(!sent.contains(.renew))
    #expect(try ann.document("mine:1") == ["n": .int(2)])
  }

  @Test func `a removal of what the peer itself may not read is found by a comparison`() throws {
    let network = TestNetwork(seed: 1)
    network.access = { $0.name == "ann" ? Self.access : .everything }
    let cloud = try network.addPeer("cloud", .big)
    let desk = try network.addPeer("desk")
    let ann = try network.addPeer("ann")
    for peer in [cloud, desk, ann] { try peer.subscribe("SELECT * FROM things") }
    try ann.put("other:1", ["n": .int(1)])
    // The first document goes a long way round: the cloud and its writer have not met.
    for (one, other) in [(ann, desk), (desk, cloud)] {
      let (end, _) = try network.connect(one, other)
      try network.settle()
      network.cut(end)
    }
    #expect(try cloud.document("other:1") != nil)
    try ann.remove("other:1")
    try network.connect(ann, cloud)
    try network.settle()
    #expect(try cloud.document("other:1") == nil)
  }

  @Test func `a peer is owed nothing of what it may not read`() throws {
    let network = TestNetwork(seed: 1)
    network.access = { $0.name == "ann" ? Self.access : .everything }
    let cloud = try network.addPeer("cloud", .big)
    let ann = try network.addPeer("ann")
    try ann.subscribe("SELECT * FROM things")
    for id in ["mine:1", "other:1"] { try cloud.put(id, ["n": .int(1)]) }
    let (end, _) = try network.connect(cloud, ann)
    try network.settle()
    let pusher = end.session.pusher
    func owe(_ id: String) throws {
      let request = DocumentRequest(
        collection: "things", id: try DocumentID(id), vector: VersionVector(), isHeld: true)
      try pusher.owe([request], isTransaction: false)
    }
    try owe("other:1")
    #expect(pusher.sender.requests.isEmpty)
    try owe("mine:1")
    #expect(!pusher.sender.requests.isEmpty)
  }

  @Test func `a store resumes however much it has changed of what the peer may not read`() throws {
    let network = TestNetwork(seed: 1)
    network.configure = { $0.tuning.notices.afterResuming = 2 }
    network.access = { $0.name == "ann" ? Self.access : .everything }
    var sent: [FrameType] = []
    network.onSend = { end, bytes in
      if end.other?.peer.name == "ann", let type = FrameType(of: bytes) { sent.append(type) }
    }
    let cloud = try network.addPeer("cloud", .big)
    let ann = try network.addPeer("ann")
    for peer in [cloud, ann] { try peer.subscribe("SELECT * FROM things") }
    try ann.put("mine:1", ["n": .int(1)])
    let (end, _) = try network.connect(cloud, ann)
    try network.settle()
    network.cut(end)
    for number in 0..<20 { try cloud.put("other:\(number)", ["n": .int(1)]) }
    try ann.put("mine:2", ["n": .int(2)])
    sent = []
    try network.connect(cloud, ann)
    try network.settle()
    #expect(sent.contains(.resume))
    #expect(!sent.contains(.compare))
    #expect(try cloud.document("mine:2") == ["n": .int(2)])
  }

  @Test(arguments: [("mine:1", true), ("other:1", false)])
  func `damage is reported to a peer that may read the document, and to no other`(id: String, isTold: Bool)
    throws
  {
    let network = TestNetwork(seed: 1)
    network.access = { $0.name == "ann" ? Self.access : .everything }
    let cloud = try network.addPeer("cloud", .big)
    let ann = try network.addPeer("ann")
    for peer in [cloud, ann] { try peer.subscribe("SELECT * FROM things") }
    for id in ["mine:1", "mine:2", "other:1"] {
      try cloud.put(id, ["text": .string("the words of \(id).")])
    }
    try cloud.distribute()
    #expect(try cloud.damage("the words of \(id).", by: "The words of \(id).") >= 1)
    let (end, other) = try network.connect(cloud, ann)
    try network.settle()
    #expect(end.session.progress.damagedDocuments == 1)
    #expect(other.session.progress.isPeerUnreadable == isTold)
    #expect((other.caughtUp == nil) == isTold)
    #expect((end.session.progress.confirmedSequence == nil) == isTold)
    #expect(network.endpoints.allSatisfy { $0.closed == nil })
  }

  /// Returns the answers to a question for what does not match, of a store that visits few records in a call.
  private func listing(_ hidden: Int) throws -> [[UInt8]] {
    let raw = try RawPeer {
      $0.access = Self.access
      $0.tuning.calls.records = 8
    }
    try raw.open()
    try raw.peer.write { write in
      for (name, count) in [("mine", 40), ("other", hidden)] {
        for number in 0..<count {
          try write.upsert(["n": .int(0)], id: try DocumentID("\(name):\(number)"), into: "things")
        }
      }
    }
    raw.perform(raw.session.committed(raw.peer.takeCommits(), now: raw.now))
    try raw.sendInterest("SELECT * FROM things WHERE n = 1")
    raw.send(.compare) { out in
      out.writeVarint(1)
      out.writeVarint(1)
      RangeQuestion.rest(1, KeyRange(collection: "things")).encode(to: &out)
    }
    try #require(raw.closed == nil)
    return raw.sent(.answer)
  }

  @Test func `a listing does not show how many documents were passed over`() throws {
    let few = try listing(1)
    #expect(few.count == 1)
    #expect(few == (try listing(300)))
  }
}
