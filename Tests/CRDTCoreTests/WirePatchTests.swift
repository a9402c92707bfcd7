import CRDTCore
import CRDTModel
import TestKit
import Testing

/// Deltas merged on a record's bytes, held against the same merges over the decoded tree.
@Suite struct WirePatchTests {
  private typealias Script = RecordPatchTests.Script

  private func outcome(
    of wire: [UInt8], on peer: Peer, by route: CodecRoute
  ) throws(CodecError) -> (MergeOutcome, Peer) {
    var peer = peer
    let standing = peer.document
    let outcome = try DocumentCodec.merge(
      wire: wire.span.bytes, existing: standing?.stored, own: peer.site, tables: &peer.tables, by: route)
    if case .changed(let document) = outcome { peer.document = document }
    return (outcome, peer)
  }

  /// Merges both ways and goes on with the patched record.
  ///
  /// - Returns: Whether the patch did it.
  private func compare(_ wire: [UInt8], on peer: inout Peer, _ seed: UInt64) throws -> Bool {
    let (patch, a) = try outcome(of: wire, on: peer, by: .patch)
    let (tree, b) = try outcome(of: wire, on: peer, by: .tree)
    switch patch {
    case .missingBase:
      peer = b
      return false
    case .unchanged: expect(tree.isUnchanged, "seed \(seed)")
    case .refused(let error): Issue.record("seed \(seed): \(error)")
    case .changed(let document):
      expect(tree.isChanged && a.verifies, "seed \(seed)")
      expectEqual(document.summary, b.document?.summary, "seed \(seed)")
      try expectEqual(a.wire(), b.wire(), "seed \(seed)")
      try expectEqual(a.state, b.state, "seed \(seed)")
      try expectEqual(a.state?.summary, document.summary, "seed \(seed)")
    }
    peer = a
    return true
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `merging a delta on the bytes and over the tree come to the same`(block: UInt64) throws {
    var (patches, writes, all) = (0, 0, 0)
    for seed in block * RecordPatchTests.seeds..<(block + 1) * RecordPatchTests.seeds {
      var script = try Script(seed: seed)
      for _ in 0..<40 {
        script.now += UInt64(script.random.generator.int(below: 3))
        let index = script.random.generator.int(below: 3)
        let edits = (0..<(1 + script.random.generator.int(below: 2))).map { _ in script.edit() }
        _ = try? script.peers[index].update(edits, now: script.now)
        if script.random.generator.oneIn(9) {
          _ = try? script.peers[index].upsert(script.smallUpsert(), now: script.now)
        }
        let other = script.random.generator.int(below: 3)
        guard other != index, script.random.generator.oneIn(2) else { continue }
        let base = try script.random.generator.oneIn(6) ? VersionVector() : script.peers[other].vector
        let wire = try script.peers[index].wire(lacking: base)
        let direct = try script.peers[index].wire(lacking: base, by: .patch)
        if !direct.isEmpty {
          writes += 1
          try expectEqual(direct, script.peers[index].wire(lacking: base, by: .tree), "seed \(seed)")
        }
        all += 1
        if try compare(wire, on: &script.peers[other], seed) { patches += 1 }
        if script.random.generator.oneIn(8) {
          try expect(compare(wire, on: &script.peers[other], seed) || true)
        }
      }
    }
    #expect(patches * 8 > all, "\(patches) of \(all) deltas were merged on the bytes")
    #expect(writes * 5 > all, "\(writes) of \(all) deltas were written from the bytes")
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `no delta that the validator refuses is merged on the bytes`(seed: UInt64) throws {
    var script = try Script(seed: seed)
    let before = script.peers[1]
    for _ in 0..<6 {
      script.now += 2
      _ = try? script.peers[0].update([script.edit()], now: script.now)
    }
    let wire = try script.peers[0].wire(lacking: before.vector)
    for _ in 0..<1_000 {
      var bytes = wire
      let index = script.random.generator.int(below: bytes.count)
      bytes[index] ^= 1 << UInt8(script.random.generator.int(below: 8))
      if script.random.generator.oneIn(3) {
        bytes.remove(at: script.random.generator.int(below: bytes.count))
      }
      let isValid = (try? WireDocument.validate(bytes.span.bytes)) != nil
      guard let (outcome, _) = try? outcome(of: bytes, on: before, by: .patch), outcome.isChanged else {
        continue
      }
      expect(isValid, "seed \(seed)")
    }
  }
}
