import CRDTCore
import DocStore
import TestKit
import Testing

@testable import SyncProtocol

/// What filters, and the notices that they save, may take of memory and work.
@Suite struct FilterLimitsTests {
  private let tuning = SyncTuning()

  private func id(_ number: Int) throws -> DocumentID { try DocumentID("d\(number)") }

  /// A subject that has asked for the filter of a peer that it told of 64 documents.
  private func asking(_ configure: (inout SessionConfiguration) -> Void = { _ in }) throws -> RawPeer {
    let raw = try RawPeer(configure)
    try raw.open(subscribing: "SELECT * FROM things")
    // All is equal, and settled.
    raw.send(.answer) { $0.write([1, 1, 1, 0]) }
    raw.send(.settled) { $0.writeVarint(1) }
    try put(64, "a", at: raw)
    try #require(raw.sent(.filterWanted).count == 1)
    return raw
  }

  private func put(_ count: Int, _ name: String, at raw: RawPeer) throws {
    try raw.peer.write { transaction in
      for number in 0..<count {
        try transaction.upsert(["n": .int(1)], id: try DocumentID("\(name)\(number)"), into: "things")
      }
    }
    raw.perform(raw.session.committed(raw.peer.takeCommits(), now: raw.now))
  }

  private func ask(_ raw: RawPeer, number: Int) {
    raw.send(.filterWanted) { out in
      out.write(1)
      out.writeVarint(number)
      out.writeString("things")
      out.writeVarint(100)
      out.writeVarint(1 << 30)
    }
  }

  @Test func `a filter that comes counts as memory of what its peer asks for`() throws {
    let raw = try asking()
    let before = raw.peer.shared.askedBytes
    raw.sendFilter(totalBytes: 1 << 20, partBytes: SyncLimits.filterPieceBytes)
    #expect(raw.session.filterBytes == 1 << 20)
    #expect(raw.peer.shared.askedBytes >= before + 1 << 20)
    raw.perform(raw.session.close(now: raw.now))
    raw.peer.shared.memory.leave(raw.session.id)
    #expect(raw.peer.shared.askedBytes == 0)
  }

  @Test func `a filter for which a peer or all have no memory left counts as refused`() throws {
    let most = 600_000
    for configure in [
      { $0.peerMemoryBytes = 2 * most - 2 }, { $0.allPeersMemoryBytes = 2 * most - 2 },
    ] as [(inout SessionConfiguration) -> Void] {
      let raw = try asking(configure)
      raw.sendFilter(totalBytes: most, partBytes: SyncLimits.filterPieceBytes)
      expect(raw.closed == nil)
      expectEqual(raw.session.filterBytes, 0)
      // What is new is told as before.
      let told = raw.sent(.have).count
      try put(1, "b", at: raw)
      expectEqual(raw.sent(.have).count, told + 1)
    }
  }

  @Test func `what waits for a filter, and what was told since, counts as memory`() throws {
    var half = NoticeHalf(.haves, above: 0, tuning)
    for number in 0..<64 { _ = half.receive(event: try id(number)) }
    #expect(half.heldBytes == 0)
    for number in 100..<200 { _ = half.receive(event: try id(number)) }
    #expect(half.heldBytes > 100 * SyncLimits.waitingIDBytes)
    var halves = NoticeHalves(.haves, tuning)
    halves["a"] = half
    #expect(halves.heldBytes == half.heldBytes)
    let waiting = half.heldBytes
    for number in 0..<100 { half.receive(reported: IDFilter.hash(try id(number))) }
    #expect(half.heldBytes == waiting + 100 * SyncLimits.reportedIDBytes)
    _ = half.receive(refusal: 1, number: half.lastNumber, held: 200)
    #expect(half.heldBytes == 0)
  }

  @Test func `a peer that asks for filters again and again is refused, and later answered again`() throws {
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    func refusals() -> Int { raw.sent(.filter).count { $0.first == 3 } }
    let most = SyncLimits.filterVisits / Int(SyncLimits.leastFilterVisits)
    for number in 1...most { ask(raw, number: number) }
    #expect(raw.sent(.filter).count == most && refusals() == 0)
    ask(raw, number: most + 1)
    #expect(refusals() == 1)
    raw.tick(after: .seconds(1))
    ask(raw, number: most + 2)
    #expect(refusals() == 1 && raw.sent(.filter).count == most + 2)
    #expect(raw.closed == nil)
  }

  @Test func `many records are visited for filters before a peer is refused, and so many a second`() {
    var halves = NoticeHalves(.offers, tuning)
    let records = UInt64(SyncLimits.filterVisits / 2)
    let results = [(records, 1), (0, 1), (.max, 2), (0, 1_000)].map { records, second in
      halves.mayMakeFilter(ofAtMost: records, now: .seconds(second))
    }
    // A second makes up for a small one, and one large one may take more than there is.
    #expect(results == [true, false, true, false])
  }

  @Test func `the work for a filter is done in steps, and the session answers in between`() throws {
    let raw = try RawPeer { $0.tuning.calls.records = 50 }
    try raw.peer.write { transaction in
      for number in 0..<500 { try transaction.upsert(["n": .int(1)], id: try id(number), into: "things") }
    }
    _ = raw.peer.takeCommits()
    try raw.open(subscribing: "SELECT * FROM things")
    raw.ticksAtOnce = false
    ask(raw, number: 1)
    var steps = 0
    while raw.sent(.filter).isEmpty, steps < 100 {
      expect(raw.isAlive())
      raw.frames.removeAll { $0.type == .pong }
      raw.tick(after: .milliseconds(1))
      steps += 1
    }
    #expect(steps >= 8 && steps < 100)
  }

  @Test func `of many certificates those of all collections stand for those of one`() throws {
    let network = TestNetwork()
    defer { withExtendedLifetime(network) {} }
    let peer = try network.addPeer("one")
    peer.store.certificateLifetime = nil
    for (name, count) in [("few", 10), ("things", SyncLimits.countedCertificates)] {
      for isWrite in [true, false] {
        try peer.write { transaction in
          for number in 0..<count {
            if isWrite {
              try transaction.upsert(["n": .int(1)], id: try id(number), into: name)
            } else {
              try transaction.remove(try id(number), in: name)
            }
          }
        }
      }
    }
    // Time goes on with each write.
    try peer.put("later", [:], in: "others")
    try peer.forget()
    let context = SessionContext(
      id: 1, store: peer.store, gate: peer.scopes, shared: peer.shared,
      configuration: SessionConfiguration(kind: .small, peerName: "one", appID: "test", random: { 1 }))
    let counts = try ["few", "things", "none"].map { try context.certificateCount(of: $0) }
    #expect(counts == [10, UInt64(SyncLimits.countedCertificates) + 10, 0])
  }
}
