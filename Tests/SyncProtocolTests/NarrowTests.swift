import CRDTCore
import DocStore
import TestKit
import Testing

@testable import SyncProtocol

/// The cost in bytes, without documents, of a peer that asks for little of what its neighbour receives.
@Suite struct NarrowTests {
  private static let count = 10_000
  /// The most that a neighbour may receive of all that it did not ask for.
  private static let most = 20_000
  private static let all = "SELECT * FROM things"
  private static let few = "SELECT * FROM things WHERE n = 7"

  /// A network that counts what is sent to each peer beside documents.
  private final class Counted {
    let network = TestNetwork()
    var bytes: [String: Int] = [:]

    init() {
      network.onSend = { [unowned self] end, frame in
        switch FrameType(of: frame) {
        case .fragment, .chunk: break
        default:
          if let name = end.other?.peer.name { bytes["\(end.peer.name)>\(name)", default: 0] += frame.count }
        }
      }
    }

    func sent(_ from: TestPeer, _ to: TestPeer) -> Int { bytes["\(from.name)>\(to.name)"] ?? 0 }

    func peer(_ name: String, _ query: String?) throws -> TestPeer {
      let peer = try network.addPeer(name)
      if let query { try peer.subscribe(query) }
      return peer
    }
  }

  /// Writes documents, a hundred in a transaction, of which one in 294 has `n = 7`.
  private func flood(_ peer: TestPeer, _ world: Counted, _ numbers: Range<Int>, settles: Bool = true) throws {
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 100) {
      try peer.write { transaction in
        for number in start..<min(start + 100, numbers.upperBound) {
          let value: Value = .int(number % 294 == 0 ? 7 : Int64(number) + 1_000)
          try transaction.upsert(["n": value], id: try DocumentID("\(peer.name)\(number)"), into: "things")
        }
      }
      if settles { try world.network.run(steps: 40) }
    }
    if settles { try world.network.settle() }
  }

  /// Writes documents that match no other peer's queries, and deletions that leave only certificates.
  private func fill(_ peer: TestPeer) throws {
    for number in 0..<40 { try peer.put("\(peer.name)-\(number)", ["n": .int(-1)]) }
    for number in 0..<10 { try peer.remove("\(peer.name)-\(number)") }
    peer.store.certificateLifetime = nil
    try peer.forget()
  }

  private func expectFew(_ peer: TestPeer, of count: Int = count, more: Int = 0) throws {
    let matches = try peer.documents().values.count { $0["n"] == .int(7) }
    expectEqual(matches, (count + 293) / 294 + more)
  }

  @Test func `live, it hears of what it asked for`() throws {
    let world = Counted()
    let (source, hub) = (try world.peer("source", nil), try world.peer("hub", Self.all))
    let narrow = try world.peer("narrow", Self.few)
    try fill(narrow)
    try world.network.connect(source, hub)
    try world.network.connect(hub, narrow)
    try world.network.settle()
    try flood(source, world, 0..<Self.count)
    try expectFew(narrow)
    #expect(world.sent(hub, narrow) < Self.most)
    #expect(world.sent(narrow, hub) < Self.most)
  }

  @Test func `over a reconnection`() throws {
    let world = Counted()
    let (source, hub) = (try world.peer("source", nil), try world.peer("hub", Self.all))
    let narrow = try world.peer("narrow", Self.few)
    try fill(narrow)
    try world.network.connect(source, hub)
    let (end, _) = try world.network.connect(hub, narrow)
    try world.network.settle()
    world.network.cut(end)
    try flood(source, world, 0..<Self.count)
    world.bytes = [:]
    let (again, _) = try world.network.connect(hub, narrow)
    try world.network.settle()
    try expectFew(narrow)
    #expect(world.sent(hub, narrow) < Self.most)
    #expect(world.sent(narrow, hub) < Self.most)
    world.network.cut(again)
    try flood(source, world, Self.count..<Self.count + 3_000)
    world.bytes = [:]
    try world.network.connect(hub, narrow)
    try world.network.settle()
    #expect(world.sent(hub, narrow) < Self.most)
  }

  @Test func `when both change what they ask for`() throws {
    let world = Counted()
    let (source, hub) = (try world.peer("source", nil), try world.peer("hub", Self.all))
    let narrow = try world.peer("narrow", Self.few)
    try fill(narrow)
    try world.network.connect(source, hub)
    try world.network.connect(hub, narrow)
    try world.network.settle()
    try flood(source, world, 0..<Self.count / 2)
    try hub.subscribe(Self.all + " WHERE n >= 0")
    try narrow.subscribe(Self.few + " OR n = -5")
    try flood(source, world, Self.count / 2..<Self.count)
    try expectFew(narrow)
    #expect(world.sent(hub, narrow) < Self.most)
    #expect(world.sent(narrow, hub) < Self.most)
  }

  @Test func `each of ten neighbours of a hub`() throws {
    let world = Counted()
    let (source, hub) = (try world.peer("source", nil), try world.peer("hub", Self.all))
    let narrow = try (0..<10).map { try world.peer("narrow\($0)", Self.few) }
    try world.network.connect(source, hub)
    for peer in narrow {
      try fill(peer)
      try world.network.connect(hub, peer)
    }
    try world.network.settle()
    try flood(source, world, 0..<Self.count)
    for peer in narrow {
      try expectFew(peer)
      expect(world.sent(hub, peer) < Self.most)
    }
  }

  @Test func `a narrow device between two hubs`() throws {
    let world = Counted()
    let (left, right) = (try world.peer("left", nil), try world.peer("right", nil))
    let (east, west) = (try world.peer("east", Self.all), try world.peer("west", Self.all))
    let narrow = try world.peer("narrow", Self.few)
    let last = try world.peer("last", Self.few)
    try fill(narrow)
    try world.network.connect(left, east)
    try world.network.connect(right, west)
    try world.network.connect(east, narrow)
    try world.network.connect(narrow, west)
    try world.network.connect(narrow, last)
    try world.network.settle()
    for start in stride(from: 0, to: Self.count / 2, by: 1_000) {
      try flood(left, world, start..<start + 1_000)
      try flood(right, world, start..<start + 1_000)
    }
    for peer in [narrow, last] {
      try expectFew(peer, of: Self.count / 2, more: (Self.count / 2 + 293) / 294)
    }
    for hub in [east, west] { expect(world.sent(hub, narrow) < Self.most) }
    // What another changed, and a deletion that came over the narrow one, get everywhere.
    try left.put("left0", ["n": .int(8)])
    try right.remove("right0")
    try world.network.settle()
    for peer in [narrow, last] {
      try expect(peer.document("left0")?["n"] != .int(7))
      try expect(peer.document("right0") == nil)
    }
  }
}
