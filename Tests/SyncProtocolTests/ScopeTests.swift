import CRDTCore
import DocStore
import ScopePolicy
import SyncProtocol
import TestKit
import Testing

/// Sync scopes at every hop: what may not flow is not on the link, in no form.
///
/// They hold rule 10 in `Documentation/Sync.md`.
@Suite struct ScopeTests {
  private static let scopes: [TextKey: SyncScope] = [
    "notes": .smallPeersOnly, "audit": .bigPeerOnly, "drafts": .localPeerOnly,
  ]
  private static let collections = ["open", "notes", "audit", "drafts"]

  private func subscribeToAll(_ peer: TestPeer) throws {
    try peer.subscribe(
      "SELECT * FROM open", "SELECT * FROM notes", "SELECT * FROM audit", "SELECT * FROM drafts")
  }

  /// Writes to all collections, with the collection's and the writer's name in id, key and value.
  private func write(_ peer: TestPeer, _ round: Int) throws {
    for collection in Self.collections {
      let marker = "MARK-\(collection)-\(peer.name)-\(round)"
      try peer.put(marker, [TextKey(marker): .string(marker)], in: collection)
    }
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func `a marker never shows on a link that its scope forbids`(seed: UInt64) throws {
    let network = TestNetwork(seed: seed)
    network.configure = { $0.compressionLevel = 0 }
    let tablet = try network.addPeer("tablet", .small)
    let phone = try network.addPeer("phone", .small)
    let cloud = try network.addPeer("cloud", .big)
    var leaks: [String] = []
    network.onSend = { end, bytes in
      guard let receiver = end.other?.peer else { return }
      let text = String(decoding: bytes, as: UTF8.self)
      for (collection, scope) in Self.scopes {
        let isAllowed: Bool =
          switch scope {
          case .allPeers: true
          case .bigPeerOnly: receiver.kind == .big
          case .smallPeersOnly: receiver.kind == .small
          case .localPeerOnly: false
          }
        // A peer may be asked for the ids that it told of itself.
        let foreign = network.peers.filter {
          $0 !== receiver && text.contains("MARK-\(collection)-\($0.name)")
        }
        if !isAllowed, !foreign.isEmpty {
          leaks.append(
            "\(collection) from \(end.peer.name) to \(receiver.name), \(FrameType(of: bytes).map { "\($0)" } ?? "nothing")"
          )
        }
      }
    }
    for peer in network.peers {
      try peer.scopes.set(Self.scopes)
      try subscribeToAll(peer)
      try write(peer, 0)
    }
    let (end, _) = try network.connect(tablet, phone)
    try network.connect(phone, cloud)
    try network.connect(tablet, cloud)
    try network.run(steps: 40)
    for peer in network.peers { try write(peer, 1) }
    try network.settle()
    network.cut(end)
    for peer in network.peers { try write(peer, 2) }
    try network.connect(tablet, phone)
    try network.settle()
    for peer in network.peers { try peer.remove("MARK-notes-\(peer.name)-0", in: "notes") }
    try network.settle()
    #expect(leaks == [])
    #expect(try network.debts().isEmpty)
    #expect(try phone.documents(in: "open").count == 9)
    #expect(try phone.documents(in: "notes").keys.contains("MARK-notes-tablet-2"))
    #expect(try !cloud.documents(in: "notes").keys.contains { $0.contains("phone") || $0.contains("tablet") })
    #expect(try cloud.documents(in: "audit").keys.contains("MARK-audit-tablet-2"))
    #expect(try !phone.documents(in: "audit").keys.contains { $0.contains("tablet") })
    #expect(try cloud.documents(in: "drafts").count == 3)
  }

  @Test func `what was withheld flows as soon as the scopes allow it`() throws {
    let network = TestNetwork()
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    try a.scopes.set(["things": .localPeerOnly])
    try a.put("x", ["n": .int(1)])
    try b.subscribe("SELECT * FROM things")
    let (end, _) = try network.connect(a, b)
    try network.settle()
    #expect(try b.documents().isEmpty)
    try a.put("y", ["n": .int(2)])
    try network.settle()
    #expect(try b.documents().isEmpty)
    try a.scopes.set([:] as [TextKey: SyncScope])
    try end.perform(end.session.policyChanged(now: network.now))
    try network.settle()
    #expect(try b.documents().count == 2)
  }

  @Test func `what is on its way stops as soon as the scopes forbid it`() throws {
    let network = TestNetwork()
    network.configure = { $0.initialWindowBytes = 8 << 10 }
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    var random = SeededGenerator(seed: 2)
    for index in 0..<200 {
      try a.put(
        "d\(index)", ["bytes": .bytes((0..<1_000).map { _ in UInt8(truncatingIfNeeded: random.next()) })])
    }
    try b.subscribe("SELECT * FROM things")
    let (_, receiver) = try network.connect(a, b)
    receiver.holdsApplies = true
    try network.settle()
    try a.scopes.set(["things": .localPeerOnly])
    receiver.holdsApplies = false
    try network.settle()
    let count = try b.documents().count
    #expect(count > 0 && count < 60)
    #expect(receiver.closed == nil)
  }

  /// A receiver's questions contain nothing of what it may not send: no fingerprint, vector, filter or id.
  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func `what is known of hidden documents does not show in questions`(seed: UInt64) throws {
    let network = TestNetwork(seed: seed)
    network.configure = { $0.compressionLevel = 0 }
    let phone = try network.addPeer("phone", .small)
    let cloud = try network.addPeer("cloud", .big)
    // Writes what is hidden from the cloud, and nothing else: its site in any vector is a leak.
    let ghost = try network.addPeer("ghost", .small)
    var leaks: [String] = []
    network.onSend = { end, bytes in
      guard end.other?.peer === cloud else { return }
      if bytes.contains(ghost.store.site) {
        leaks.append("a vector in \(FrameType(of: bytes).map { "\($0)" } ?? "")")
      }
      do { leaks += try HiddenTalk(in: bytes, about: "notes").found } catch { leaks.append("\(error)") }
    }
    for peer in network.peers {
      try peer.subscribe("SELECT * FROM notes WHERE n < 1000", "SELECT * FROM open")
    }
    try phone.scopes.set(["notes": .smallPeersOnly])
    try ghost.scopes.set(["notes": .smallPeersOnly])
    func write(_ round: Int) throws {
      for index in 0..<60 {
        try ghost.put("g\(index)", ["n": .int(Int64(round + index))], in: "notes")
        try cloud.put("c\(index)", ["n": .int(Int64(round + index))], in: "notes")
        // The same document from all sides, in different states.
        for (offset, peer) in network.peers.enumerated() where index < 8 {
          try peer.put("shared\(index)", ["n": .int(Int64(round + offset * 400))], in: "notes")
        }
      }
      try cloud.put("o\(round)", ["n": .int(1)], in: "open")
    }
    try write(0)
    try network.connect(ghost, phone)
    var (end, _) = try network.connect(phone, cloud)
    try network.settle()
    #expect(try phone.documents(in: "notes").count == 128)
    network.cut(end)
    try write(500)
    (end, _) = try network.connect(phone, cloud)
    try network.run(steps: 60)
    try phone.evict("c3", in: "notes")
    try write(700)
    try phone.remove("c4", in: "notes")
    try network.settle()
    #expect(leaks == [])
    #expect(try network.debts().isEmpty)
    #expect(try phone.document("c3", in: "notes")?["n"] == .int(703))
    #expect(end.closed == nil && end.other?.closed == nil)
  }

  @Test func `scopes have a print that is the same after a restart, and another for another setting`() throws
  {
    func print(_ scopes: [TextKey: SyncScope], _ kind: PeerKind) throws -> UInt64 {
      let all = SyncScopes()
      try all.set(["other": .localPeerOnly])
      try all.set(scopes)
      return all.fingerprint(toward: kind)
    }
    let open = try print([:], .small)
    #expect(try open == print(["a": .allPeers], .small))
    #expect(try open == print(["a": .smallPeersOnly], .small))
    #expect(
      try print(["a": .smallPeersOnly, "b": .localPeerOnly], .small) == print(["b": .bigPeerOnly], .small))
    let prints = try [
      open, print(["a": .localPeerOnly], .small), print(["b": .localPeerOnly], .small),
      print(["a": .localPeerOnly, "b": .localPeerOnly], .small), print(["ab": .localPeerOnly], .small),
    ]
    #expect(Set(prints).count == prints.count)
    #expect(try print(["a": .bigPeerOnly], .big) == print([:], .big))
  }

  /// Ways of being in the middle of something when the policy changes.
  enum Middle: CaseIterable { case transfer, smallGroup, queue }

  @Test(arguments: Middle.allCases)
  func `nothing of a forbidden group leaves after the change, and the rest flows on`(middle: Middle) throws {
    let network = TestNetwork()
    network.configure = {
      $0.initialWindowBytes = 2 << 10; $0.compressionLevel = 0
    }
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    let size = middle == .smallGroup ? 40_000 : middle == .transfer ? 200_000 : 1_000
    for index in 0..<(middle == .queue ? 40 : 2) {
      try a.put("d\(index)", ["text": .string(String(repeating: "secret", count: size / 6))])
    }
    try a.put("open", ["text": .string("anything")], in: "open")
    try b.subscribe("SELECT * FROM things", "SELECT * FROM open")
    let (sender, receiver) = try network.connect(a, b)
    receiver.holdsApplies = true
    try network.run(steps: 40)
    receiver.holdsApplies = true
    let held = try b.documents().count
    try a.scopes.set(["things": .localPeerOnly])
    var after: [UInt8] = []
    network.onSend = { end, bytes in if end === sender { after += bytes } }
    try sender.perform(sender.session.policyChanged(now: network.now))
    receiver.holdsApplies = false
    try network.settle()
    #expect(!String(decoding: after, as: UTF8.self).contains("secret"))
    #expect(try b.documents(in: "open").count == 1)
    #expect(try b.documents().count <= held + 8)
    #expect(receiver.closed == nil)
    // Allowed again, all of it comes.
    try a.scopes.set([:] as [TextKey: SyncScope])
    try sender.perform(sender.session.policyChanged(now: network.now))
    try network.settle()
    #expect(try b.documents() == a.documents())
  }
}
