import CRDTCore
import CRDTModel
import TestKit
import Testing

@Suite struct DocumentLawsTests {
  /// Joins two wire documents in a store of its own.
  private func join(_ a: [UInt8], _ b: [UInt8]) throws -> [UInt8] {
    var peer = Peer(99)
    try peer.merge(a)
    try peer.merge(b)
    return try peer.wire()
  }

  @Test(arguments: 0..<12 as Range<UInt64>)
  func `merging whole documents is commutative, associative and idempotent`(block: UInt64) throws {
    for seed in block * 25..<block * 25 + 25 {
      var random = RandomDocument(seed: seed)
      let peers = try random.replicas(3)
      try expectJoinLaws((peers[0].wire(), peers[1].wire(), peers[2].wire()), "seed \(seed)", join: join)
    }
  }

  /// The kinds of `RandomDocument`, a removal, and nothing at all.
  @Test(arguments: 0..<RandomDocument.kinds + 2)
  func `every pair of types at one path settles alike in every order`(kind: Int) throws {
    func write(_ kind: Int, _ peer: inout Peer, _ random: inout RandomDocument, now: UInt64) throws {
      switch kind {
      case RandomDocument.kinds: try peer.update([.remove(["f"])], now: now)
      case RandomDocument.kinds + 1: try peer.update([.set(["other"], .int(1))], now: now)
      // An integer or a double, which may take the place of a counter.
      case 2, 3: try peer.update([.replace(["f"], random.value(kind: kind))], now: now)
      default:
        do {
          try peer.update([.set(["f"], random.value(kind: kind))], now: now)
        } catch let error as DocumentError where error.code == .isACounter {
          return
        }
      }
    }
    for other in 0..<RandomDocument.kinds + 2 {
      for seed in 0..<3 as Range<UInt64> {
        var random = RandomDocument(seed: seed * 1_000 + UInt64(kind * 20 + other))
        var peers = (1...3).map { Peer($0) }
        try peers[0].upsert(["f": random.any()], now: 1_000)
        for index in 1...2 { try peers[index].pull(peers[0]) }
        try write(kind, &peers[0], &random, now: 2_000)
        try write(other, &peers[1], &random, now: 2_000 + seed * 10)
        try write(random.generator.oneIn(2) ? kind : other, &peers[2], &random, now: 2_010)
        if seed > 0 {
          _ = try? peers[2].update([.set(["f", "k"], .int(1)), .increment(["c"], 1)], now: 2_020)
        }
        try expectJoinLaws(
          (peers[0].wire(), peers[1].wire(), peers[2].wire()), "\(kind), \(other)", join: join)
      }
    }
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `a delta brings what the whole document brings`(block: UInt64) throws {
    for seed in block * 25..<block * 25 + 25 {
      var random = RandomDocument(seed: seed)
      let peers = try random.replicas(2)
      var (byDelta, byWhole) = (peers[0], peers[0])
      try byDelta.pull(peers[1])
      try byWhole.pull(peers[1], whole: true)
      let expected = try byWhole.wire()
      try expectEqual(byDelta.wire(), expected, "seed \(seed)")
      try expectEqual(byDelta.fields, byWhole.fields, "seed \(seed)")
      try expect(byDelta.vector.dominates(peers[0].vector) && byDelta.vector.dominates(peers[1].vector))
    }
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `record, state and wire form stand for the same document`(block: UInt64) throws {
    for seed in block * 25..<block * 25 + 25 {
      var random = RandomDocument(seed: seed)
      for peer in try random.replicas(2) {
        let wire = try peer.wire()
        var copy = Peer(42)
        try copy.upsert(["unrelated": .int(1)])
        copy.evict()
        try copy.merge(wire)
        try expectEqual(copy.wire(), wire, "seed \(seed)")
        try expectEqual(copy.fields, peer.fields, "seed \(seed)")
        try expectEqual(copy.vector, peer.vector, "seed \(seed)")
        expectEqual(copy.document?.summary, peer.document?.summary, "seed \(seed)")
        let record = try #require(peer.record)
        try record.withView { view throws in
          let isSound = view.verify()
          expect(isSound)
          let state = try DocumentState(view, tables: peer.tables)
          expectEqual(state.summary, peer.document?.summary, "seed \(seed)")
        }
        let (base, vector) = try WireDocument.vectors(wire.span.bytes)
        try expect(base.isEmpty && vector == peer.vector)
        try expect(WireDocument.latest(wire.span.bytes) >= vector.latest)
      }
    }
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `summaries are equal exactly where the wire bytes are`(block: UInt64) throws {
    var seen: [Summary: [UInt8]] = [:]
    for seed in block * 40..<block * 40 + 40 {
      var random = RandomDocument(seed: seed)
      for peer in try random.replicas(3) {
        let wire = try peer.wire()
        let summary = try #require(peer.document?.summary)
        expect(seen[summary] == nil || seen[summary] == wire, "seed \(seed)")
        seen[summary] = wire
      }
    }
    #expect(Set(seen.values).count == seen.count)
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `a vector only ever grows while a replica holds the document`(block: UInt64) throws {
    for seed in block * 20..<block * 20 + 20 {
      var random = RandomDocument(seed: seed)
      var peers = (1...3).map { Peer($0) }
      for step in 0..<20 as Range<UInt64> {
        let index = random.generator.int(below: 3)
        let before = try peers[index].vector
        random.change(&peers[index], now: 1_000 + step)
        if random.generator.oneIn(2) { try peers[index].pull(peers[random.generator.int(below: 3)]) }
        try expect(peers[index].vector.dominates(before), "seed \(seed)")
      }
    }
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `documents of one content and equal vectors are their own repair`(block: UInt64) throws {
    for seed in block * 25..<block * 25 + 25 {
      var random = RandomDocument(seed: seed)
      var peers = try random.replicas(2)
      try peers[0].pull(peers[1])
      try peers[1].pull(peers[0])
      let wire = try peers[1].wire()
      try expect(peers[0].repair(wire).isUnchanged, "seed \(seed)")
    }
  }
}
