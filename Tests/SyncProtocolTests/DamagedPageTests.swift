import CRDTCore
import DocStore
import Failpoints
import SyncProtocol
import TestKit
import Testing

/// Damaged pages in a peer's file: its sessions name what they cannot read, and continue with the rest.
///
/// They never report that the peer is caught up with the damaged part.
@Suite struct DamagedPageTests {
  /// What is damaged.
  enum Kind: CaseIterable {
    case rows, rowsBelow, recentIDs, settledIDs, log

    var table: String {
      switch self {
      case .rows, .rowsBelow: "documents"
      case .recentIDs: "recent"
      case .settledIDs: "ids"
      case .log: "log"
      }
    }

    /// Documents that a transaction wrote together.
    var groupCount: Int { self == .log ? 4 : 40 }
  }

  private static let query = "SELECT * FROM things"
  private static let count = 1_200
  private static let text = Value.string(String(repeating: "some text ", count: 140))

  private static func name(_ number: Int) -> String { "d\(10_000 + number)" }

  /// Has a store look each id up, and keep few or many of them among the recent ones.
  private static func lookUp(by kind: Kind) -> (inout StoreOptions) -> Void {
    { options in
      options.numberCapacity = 0
      if kind == .settledIDs { options.recentIDs = 40 }
    }
  }

  /// Joins a peer that may find that it was put back, and then goes on as another one.
  ///
  /// - Returns: The end of the other.
  private static func connect(_ good: TestPeer, _ other: TestPeer, _ network: TestNetwork) throws -> Endpoint
  {
    let (end, last) = try network.connect(good, other)
    try network.settle()
    guard end.closed?.code == .cloned || last.closed?.code == .cloned else { return last }
    network.cut(end)
    defer { _ = try? network.settle() }
    return try network.connect(good, other).1
  }

  private static func fill(_ peer: TestPeer, groupsOf count: Int, n: Int64 = 0) throws {
    for start in stride(from: 0, to: Self.count, by: count) {
      try peer.write { transaction in
        for number in start..<start + count {
          try transaction.upsert(
            ["n": .int(n), "text": text], id: try DocumentID(name(number)), into: "things")
        }
      }
    }
    try peer.distribute()
  }

  /// Damages a page in the middle of a table.
  ///
  /// - Returns: The documents that stand on it, by row or by id.
  private static func damage(_ kind: Kind, at peer: TestPeer) throws -> Set<String> {
    let pages = try peer.pages()
    let levels = pages.levels(of: kind.table)
    let level = kind == .rowsBelow ? levels[levels.count - 2] : try #require(levels.last)
    #expect(level.count > 2, "\(kind) has \(levels.map(\.count)) pages")
    let page = level[level.count / 2]
    let keys = pages.leaves(below: page).flatMap { pages.keys(on: $0) }
    try peer.damage(page: page)
    switch kind {
    case .rows, .rowsBelow: return Set(keys.map { name(number(in: $0) - 1) })
    case .recentIDs, .settledIDs: return Set(keys.map { String(decoding: $0.dropFirst(2), as: UTF8.self) })
    case .log: return []
    }
  }

  /// The number in the key of a row, after the collection's.
  private static func number(in key: [UInt8]) -> Int {
    key.count == 2 ? Int(key[1]) : Int(key[1] & 0x3F) << 8 | Int(key[2])
  }

  private static func ranges(_ end: Endpoint) -> [UnreadableRange] {
    end.events.compactMap { if case .unreadable(let range) = $0 { range } else { nil } }
  }

  private static func has(_ event: SyncEvent, _ end: Endpoint) -> Bool { end.events.contains(event) }

  /// Looks whether both ends go on, and neither takes itself or the other for caught up.
  private static func expectIncomplete(_ damaged: Endpoint, _ whole: Endpoint, _ lost: Set<String>) throws {
    // The damaged end may have been caught up before it met the damage.
    expect(whole.caughtUp == nil)
    for end in [damaged, whole] {
      expect(end.closed == nil)
      expect(!end.session.progress.isCaughtUp)
      expect(end.session.progress.confirmedSequence == nil)
    }
    let ranges = ranges(damaged)
    expect(Set(ranges).count == ranges.count && ranges.count == 1, "\(ranges)")
    expectEqual(damaged.session.progress.unreadable, ranges)
    for name in lost {
      let id = try DocumentID(name)
      let isNamed = ranges.contains { range in
        range.collection.isSame(as: "things") && range.from.map { $0 <= id } ?? true
          && range.to.map { id < $0 } ?? true
      }
      expect(isNamed, "\(name) is not in \(ranges)")
    }
    expect(has(.unreadablePeer, whole) && whole.session.progress.isPeerUnreadable)
  }

  private static func names(at peer: TestPeer) throws -> Set<String> { Set(try peer.documents().keys) }

  private static let all = Set((0..<count).map(name))

  // MARK: - At the sender

  @Test(arguments: [Kind.rows, .rowsBelow])
  func `a sender sends what it can read, and never says that it was all`(kind: Kind) throws {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    try Self.fill(a, groupsOf: kind.groupCount)
    let good = try network.addTwin(of: a, "good")
    let lost = try Self.damage(kind, at: a)
    #expect(!lost.isEmpty && lost.count < Self.count * 3 / 4)
    try b.subscribe(Self.query)
    try a.subscribe(Self.query)
    let (end, other) = try network.connect(a, b)
    try network.settle()
    #expect(try Self.names(at: b) == Self.all.subtracting(lost))
    try Self.expectIncomplete(end, other, lost)
    // Later changes flow.
    try a.put("new", ["n": .int(1)])
    try b.put("newer", ["n": .int(1)])
    try network.settle()
    #expect(try b.document("new") != nil && a.exists("newer"))
    // Nobody waits for anything.
    try network.wait(.seconds(120))
    try network.settle()
    try Self.expectIncomplete(end, other, lost)
    // And so they do when the peers meet again.
    network.cut(end)
    let (again, otherAgain) = try network.connect(a, b)
    try network.settle()
    try Self.expectIncomplete(again, otherAgain, lost)
    network.cut(again)
    let last = try Self.connect(good, b, network)
    #expect(try Self.names(at: b) == Self.all.union(["new", "newer"]))
    #expect(last.caughtUp != nil && last.session.progress.isCaughtUp)
  }

  @Test(arguments: [Kind.recentIDs, .settledIDs])
  func `a sender that cannot look documents up sends the others that are asked for`(kind: Kind) throws {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a", tune: Self.lookUp(by: kind)), try network.addPeer("b"))
    try Self.fill(b, groupsOf: 40, n: 1)
    // What no transaction binds is looked up by its id.
    try Self.fill(a, groupsOf: 1, n: 2)
    let good = try network.addTwin(of: a, "good")
    let lost = try Self.damage(kind, at: a)
    #expect(lost.count > 20 && lost.count < Self.count / 2)
    try a.subscribe(Self.query)
    try b.subscribe(Self.query)
    let (end, other) = try network.connect(a, b)
    try network.settle()
    let documents = try b.documents()
    #expect(Set(documents.keys) == Self.all)
    for (name, fields) in documents { expectEqual(fields["n"], .int(lost.contains(name) ? 1 : 2)) }
    try Self.expectIncomplete(end, other, lost)
    network.cut(end)
    let last = try Self.connect(good, b, network)
    #expect(try b.documents().values.allSatisfy { $0["n"] == .int(2) })
    #expect(last.caughtUp != nil)
  }

  @Test func `a receiver that goes on from its cursor is not called caught up either`() throws {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    try Self.fill(a, groupsOf: 40)
    try a.subscribe(Self.query)
    try b.subscribe(Self.query)
    let (first, _) = try network.connect(a, b)
    try network.settle()
    network.cut(first)
    // The page in the middle is among those that are written.
    let changed = Set((500..<700).map(Self.name))
    for name in changed.sorted() {
      try a.write { try $0.update(try DocumentID(name), in: "things", [.set(["n"], .int(1))]) }
    }
    try a.distribute()
    let good = try network.addTwin(of: a, "good")
    let lost = try Self.damage(.rows, at: a)
    #expect(!lost.isEmpty && changed.isSuperset(of: lost))
    for _ in 0..<2 {
      let (end, other) = try network.connect(a, b)
      try network.settle()
      try Self.expectIncomplete(end, other, lost)
      for name in changed.subtracting(lost) { try expectEqual(b.document(name)?["n"], .int(1)) }
      try expectEqual(Self.names(at: b), Self.all)
      network.cut(end)
    }
    let last = try Self.connect(good, b, network)
    for name in changed { try expectEqual(b.document(name)?["n"], .int(1)) }
    #expect(last.caughtUp != nil)
  }

  @Test func `a damaged log costs no document, as all is compared`() throws {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    try b.subscribe(Self.query)
    let (first, _) = try network.connect(a, b)
    try network.settle()
    network.cut(first)
    // The cursor is before all that the log tells.
    try Self.fill(a, groupsOf: Kind.log.groupCount)
    _ = try Self.damage(.log, at: a)
    let (end, other) = try network.connect(a, b)
    try network.settle()
    #expect(try Self.names(at: b) == Self.all)
    #expect(end.closed == nil && other.closed == nil)
    #expect(other.caughtUp != nil)
    let parts = end.events.filter { if case .unreadableLog(.some, .some) = $0 { true } else { false } }
    #expect(parts.count == 1, "\(end.events)")
  }

  // MARK: - At the receiver

  @Test(arguments: [Kind.rows, .rowsBelow, .recentIDs, .settledIDs])
  func `a receiver takes in what it has room for, and holds nothing for deleted`(kind: Kind) throws {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b", tune: Self.lookUp(by: kind)))
    try Self.fill(b, groupsOf: 40, n: 1)
    try Self.fill(a, groupsOf: 40, n: 2)
    let lost = try Self.damage(kind, at: b)
    try a.subscribe(Self.query)
    try b.subscribe(Self.query)
    let (end, other) = try network.connect(a, b)
    try network.settle()
    try Self.expectIncomplete(other, end, lost)
    #expect(try Self.names(at: a) == Self.all)
    for name in Self.all.subtracting(lost) {
      let n = try b.document(name)?["n"]
      expectEqual(n, .int(2), "\(name) has \(String(describing: n))")
    }
    // Changes of what is lost here fail alone, beside others of one transaction.
    for round in 3...5 {
      try a.write { transaction in
        for name in Self.all.filter({ $0.hasSuffix("7") }) {
          try transaction.update(try DocumentID(name), in: "things", [.set(["n"], .int(Int64(round)))])
        }
      }
      try a.put("new \(round)", ["n": .int(Int64(round))])
      try network.settle()
    }
    for name in Self.all.subtracting(lost) where name.hasSuffix("7") {
      try expectEqual(b.document(name)?["n"], .int(5))
    }
    for round in 3...5 { try expect(b.document("new \(round)") != nil) }
    try Self.expectIncomplete(other, end, lost)
    #expect(try Self.names(at: a).count == Self.count + 3)
    // A good store in its place gets all.
    network.cut(end)
    let good = try network.addPeer("good")
    try good.subscribe(Self.query)
    let (_, last) = try network.connect(a, good)
    try network.settle()
    #expect(try good.documents() == a.documents())
    #expect(last.caughtUp != nil)
  }

  @Test(arguments: [Kind.recentIDs, .settledIDs])
  func `new documents with ids on a damaged page fail alone`(kind: Kind) throws {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b", tune: Self.lookUp(by: kind)))
    try Self.fill(b, groupsOf: 40)
    let lost = try Self.damage(kind, at: b)
    // Between those that are here.
    try a.write { transaction in
      for number in 0..<Self.count where number % 10 == 0 {
        try transaction.upsert(["n": .int(7)], id: try DocumentID(Self.name(number) + "+"), into: "things")
      }
    }
    try a.distribute()
    try b.subscribe(Self.query)
    let (end, other) = try network.connect(a, b)
    try network.settle()
    #expect(end.closed == nil && other.closed == nil && other.caughtUp == nil)
    let sorted = lost.sorted()
    for number in 0..<Self.count where number % 10 == 0 {
      let name = Self.name(number) + "+"
      guard name < sorted[0] || name > sorted[sorted.count - 1] + "+" else { continue }
      try expect(b.document(name) != nil, "\(name)")
    }
    #expect(Self.ranges(other).count == 1)
    // Nor does the sender, which asks for nothing, take the receiver for one that has all.
    #expect(end.session.progress.isPeerUnreadable && end.session.progress.confirmedSequence == nil)
  }

  // MARK: - The limits of it

  @Test func `damage to the first page of a table ends the session with a word`() throws {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    try Self.fill(a, groupsOf: 40)
    try a.damage(page: try #require(try a.pages().levels(of: "documents").first?.first))
    try b.subscribe(Self.query)
    let (end, other) = try network.connect(a, b)
    try network.settle()
    #expect(end.closed?.code == .storage && other.closed?.code == .peerClosed)
    #expect(other.caughtUp == nil)
  }

  @Test func `a peer that is not told takes itself for caught up`() throws {
    try FailpointPlan(planting: [SyncDefect.unreadableNotTold]).run {
      let network = TestNetwork()
      let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
      try Self.fill(a, groupsOf: 40)
      _ = try Self.damage(.rows, at: a)
      try b.subscribe(Self.query)
      let (_, other) = try network.connect(a, b)
      try network.settle()
      #expect(other.caughtUp != nil)
    }
  }
}
