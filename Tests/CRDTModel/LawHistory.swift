import CRDTCore
import TestKit

/// Replicas that share some history and then go apart; in the end every law must hold between them.
package struct LawHistory: SeededHistory {
  private let seed: UInt64
  private var random: RandomDocument
  private var peers = (1...3).map { Peer($0) }
  private var now: UInt64 = 1_000
  package let stepCount: Int
  package var trace: Trace?

  package init(seed: UInt64) {
    self.seed = seed
    random = RandomDocument(seed: seed)
    stepCount = 3 + random.generator.int(below: 8)
  }

  package mutating func run(step: Int) throws {
    random.generator = SeededGenerator(seed: seed, step: step)
    now += UInt64(random.generator.int(below: 50))
    let index = random.generator.int(below: peers.count)
    let before = try peers[index].vector
    let former = peers[index]
    random.change(&peers[index], now: now)
    trace?.add("\(index) at \(now): \(try peers[index].fields.map { "\($0)" } ?? "no document")")
    try LawFailure.unless(peers[index].vector.dominates(before), "a write only adds to the vector")
    try Laws.checkOperationDelta(from: former, to: peers[index])
    guard random.generator.oneIn(3) else { return }
    let other = random.generator.int(below: peers.count)
    let known = try peers[other].vector
    let puller = peers[other]
    trace?.add("\(other) pulls from \(index)")
    try peers[other].pull(peers[index])
    try Laws.checkOperationDelta(from: puller, to: peers[other])
    try LawFailure.unless(peers[other].vector.dominates(known), "a merge only adds to the vector")
  }

  package mutating func finish() throws {
    random.generator = SeededGenerator(seed: seed, step: -1)
    for index in peers.indices where peers[index].document == nil {
      try peers[index].upsert(random.fields(), now: now)
    }
    try Laws.check(peers, Int(seed % 3))
  }
}

/// Two concurrent writes at one path, of every pair of types and of removals, before they meet a third.
package struct TypePairHistory: SeededHistory {
  /// The kinds of `RandomDocument`, a removal, and nothing at all.
  package static let kinds = RandomDocument.kinds + 2

  private let seed: UInt64
  private let kind: Int
  private let other: Int
  private var random: RandomDocument
  private var peers = (1...3).map { Peer($0) }
  package let stepCount = 4
  package var trace: Trace?

  package init(seed: UInt64) {
    self.seed = seed
    kind = Int(seed % UInt64(Self.kinds))
    other = Int(seed / UInt64(Self.kinds) % UInt64(Self.kinds))
    random = RandomDocument(seed: seed)
  }

  package mutating func run(step: Int) throws {
    random.generator = SeededGenerator(seed: seed, step: step)
    let later = UInt64(random.generator.int(below: 3)) * 10
    switch step {
    case 0:
      try peers[0].upsert(["f": random.any()], now: 1_000)
      for index in 1...2 { try peers[index].pull(peers[0]) }
    case 1: try write(kind, 0, now: 2_000)
    case 2: try write(other, 1, now: 2_000 + later)
    default:
      try write(random.generator.oneIn(2) ? kind : other, 2, now: 2_010)
      guard random.generator.oneIn(2) else { return }
      _ = try? peers[2].update([.set(["f", "k"], .int(1)), .increment(["c"], 1)], now: 2_020)
    }
  }

  private mutating func write(_ kind: Int, _ index: Int, now: UInt64) throws {
    let edit: Edit =
      switch kind {
      case RandomDocument.kinds: .remove(["f"])
      case RandomDocument.kinds + 1: .set(["other"], .int(1))
      // An integer or a double, which may take the place of a counter.
      case 2, 3: .replace(["f"], random.value(kind: kind))
      default: .set(["f"], random.value(kind: kind))
      }
    trace?.add("\(index) writes \(edit) at \(now)")
    do {
      try peers[index].update([edit], now: now)
    } catch let error as DocumentError where error.code == .isACounter {
      trace?.add("  which is refused")
    }
  }

  package mutating func finish() throws {
    for index in peers.indices where peers[index].document == nil { try peers[index].upsert([:], now: 1) }
    try Laws.check(peers, Int(seed % 3))
  }
}

/// The laws of merging, on three replicas and through the codec's bytes alone.
enum Laws {
  /// - Parameters:
  ///   - peers: Three replicas that hold the document.
  ///   - index: The one whose forms are compared and which is sent a delta.
  /// - Throws: A `LawFailure`, or what the codec throws.
  static func check(_ peers: [Peer], _ index: Int) throws {
    let wires = try peers.map { try $0.wire() }
    let (a, b, c) = (wires[0], wires[1], wires[2])
    // Each in a store of its own, where neither of two is at home.
    let withA = try merged(a, into: Peer(99))
    let withB = try merged(b, into: Peer(98))
    let joined = try merged(b, into: withA)
    let ab = try joined.wire()
    try LawFailure.unless(try ab == merged(a, into: withB).wire(), "merging is commutative")
    let bc = try merged(c, into: withB).wire()
    try LawFailure.unless(
      try merged(c, into: joined).wire() == merged(bc, into: withA).wire(), "merging is associative")
    try LawFailure.unless(
      try merged(a, into: withA).wire() == a && merged(b, into: joined).wire() == ab, "merging is idempotent")
    try checkIdentity(peers[index], wires[index])
    try checkDelta(from: peers[(index + 1) % peers.count], to: peers[index])
  }

  /// A store's document joined with a wire document.
  private static func merged(_ wire: [UInt8], into peer: Peer) throws -> Peer {
    var peer = peer
    try peer.merge(wire)
    try checkSummary(peer)
    return peer
  }

  /// Record, wire form and state stand for the same document.
  private static func checkIdentity(_ peer: Peer, _ wire: [UInt8]) throws {
    var copy = Peer(42)
    try copy.merge(wire)
    try LawFailure.unless(try copy.wire() == wire, "what is read from the wire is written the same")
    try LawFailure.unless(try copy.fields == peer.fields, "the wire form keeps the fields")
    try LawFailure.unless(try copy.vector == peer.vector, "the wire form keeps the vector")
    try LawFailure.unless(copy.document?.summary == peer.document?.summary, "the wire form keeps the summary")
    try LawFailure.unless(peer.verifies && copy.verifies, "a record verifies")
    try checkSummary(peer)
    try LawFailure.unless(copy.merge(wire).isUnchanged, "what is known changes nothing")
  }

  /// A summary kept up by differences is the state's.
  private static func checkSummary(_ peer: Peer) throws {
    let summary = try peer.record?.withView { view throws(CodecError) in
      try DocumentState(view, own: peer.site, tables: peer.tables).summary
    }
    try LawFailure.unless(summary == peer.document?.summary, "the stored summary is the record's")
  }

  /// A replica with the former state comes by one write to what the delta brings it to, once and for all.
  static func checkOperationDelta(from former: Peer, to peer: Peer) throws {
    guard let wire = try peer.operationDelta(of: former) else { return }
    var copy = Peer(97)
    try copy.merge(former.wire())
    var measure = copy
    try measure.merge(peer.wire(lacking: former.vector))
    try LawFailure.unless(copy.merge(wire).isChanged, "a successor merges with its base")
    try LawFailure.unless(try copy.wire() == measure.wire(), "a successor is what its delta is")
    try LawFailure.unless(
      copy.document?.summary == peer.document?.summary, "a successor comes to the summary that it names")
    try LawFailure.unless(copy.merge(wire).isUnchanged, "a successor that is known changes nothing")
    try checkSummary(copy)
  }

  private static func checkDelta(from sender: Peer, to receiver: Peer) throws {
    var (byDelta, byWhole) = (receiver, receiver)
    try byDelta.pull(sender)
    try byWhole.pull(sender, whole: true)
    if try !receiver.vector.isEmpty {
      var byRepair = receiver
      try byRepair.repair(sender.wire())
      try LawFailure.unless(
        try byRepair.wire() == byWhole.wire() && byRepair.document?.summary == byWhole.document?.summary,
        "what nobody forgot a repair joins")
    }
    try LawFailure.unless(try byDelta.wire() == byWhole.wire(), "a delta brings what the document brings")
    try LawFailure.unless(try byDelta.fields == byWhole.fields, "a delta shows what the document shows")
    try checkSummary(byDelta)
    let vector = try byDelta.vector
    try LawFailure.unless(
      try vector.dominates(receiver.vector) && vector.dominates(sender.vector),
      "a merged vector includes both")
  }
}
