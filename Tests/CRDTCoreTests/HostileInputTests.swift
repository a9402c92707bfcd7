import CRDTCore
import CRDTModel
import TestKit
import Testing

/// Bytes from outside end in an error or a valid result, never in a trap and never in a hang.
@Suite(.timeLimit(.minutes(15))) struct HostileInputTests {
  /// Changes a few bytes: flips, sets, inserts, removals, a cut, a piece repeated.
  static func mutated(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<(1 + generator.int(below: 3)) where !bytes.isEmpty {
      let at = generator.int(below: bytes.count)
      switch generator.int(below: 8) {
      case 0, 1, 2: bytes[at] ^= 1 << UInt8(generator.int(below: 8))
      case 3, 4:
        bytes[at] = generator.pick([0, 1, 2, 0x7F, 0x80, 0xFF, UInt8(truncatingIfNeeded: generator.next())])
      case 5: bytes.insert(UInt8(truncatingIfNeeded: generator.next()), at: at)
      case 6: bytes.removeSubrange(at..<min(bytes.count, at + 1 + generator.int(below: 4)))
      default:
        bytes.insert(
          contentsOf: bytes[at...].prefix(generator.int(below: 20)), at: generator.int(below: bytes.count))
      }
    }
    return bytes
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `a mutated wire document is refused, or is canonical and merges`(block: UInt64) throws {
    var accepted = 0
    for seed in block * 40..<block * 40 + 40 {
      var random = RandomDocument(seed: seed)
      let peers = try random.replicas(2)
      let wires = [try peers[1].wire(), try peers[1].wire(lacking: peers[0].vector)]
      for _ in 0..<40 {
        let wire = Self.mutated(random.generator.pick(wires), &random.generator)
        do { try WireDocument.validate(wire.span.bytes) } catch { continue }
        var known = peers[0]
        try known.merge(wire)
        _ = try known.fields
        expect(known.verifies)
        var fresh = Peer(3)
        guard try fresh.merge(wire).isChanged else { continue }
        accepted += 1
        if try fresh.wire() != wire { Issue.record("seed \(seed): \(wire)") }
        _ = try fresh.fields
        _ = try known.repair(wire)
      }
    }
    #expect(accepted > 100)
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `random bytes are no wire document`(block: UInt64) {
    var generator = SeededGenerator(seed: block)
    for _ in 0..<2_000 {
      var bytes = generator.bytes(below: 60)
      if generator.oneIn(2), !bytes.isEmpty { bytes[0] &= 15 }
      var tables = RecordTables()
      do {
        try WireDocument.validate(bytes.span.bytes)
        _ = try DocumentCodec.merge(
          wire: bytes.span.bytes, existing: nil, own: SiteID(high: 1, low: 1), tables: &tables)
      } catch {}
      _ = try? WireDocument.vectors(bytes.span.bytes)
      _ = try? WireDocument.latest(bytes.span.bytes)
    }
  }

  /// Reads a record in every way there is.
  private func readAll(_ bytes: [UInt8], _ tables: RecordTables, _ paths: [ResolvedPath]) {
    Record(bytes: bytes).withView { view in
      _ = view.isAlive
      _ = view.verify()
      _ = try? view.fields(tables.keys)
      _ = try? view.vector(sites: tables.sites)
      _ = (try? DocumentState(view, tables: tables))?.summary
      for path in paths {
        guard let value = view.value(at: path) else { continue }
        _ = (value.kind, value.bool, value.int, value.double, value.bytes.byteCount)
        _ = try? value.materialize(tables.keys)
      }
      var out = ByteWriter()
      try? WireDocument.append(view, lacking: VersionVector(), tables: tables, to: &out)
    }
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `a damaged record is read to an error or to some value`(block: UInt64) throws {
    for seed in block * 25..<block * 25 + 25 {
      var random = RandomDocument(seed: seed)
      let peer = try random.replicas(2)[0]
      let record = try #require(peer.record)
      let paths = [["a"] as [TextKey], ["a", "b"], ["c"], []].map { names in
        var path = ResolvedPath(names.map { .key($0) })
        path.resolve(in: peer.tables.keys)
        return path
      }
      for _ in 0..<40 {
        let bytes = Self.mutated(record.bytes, &random.generator)
        readAll(bytes, peer.tables, paths)
        readAll(bytes, RecordTables(), paths)
        var tables = peer.tables
        let stamping = Stamping(site: peer.site, reading: ClockReading(milliseconds: 9))
        _ = try? DocumentCodec.update(
          [.set(["a"], .int(1))], existing: StoredDocument(bytes.span.bytes, summary: .zero),
          stamping: stamping, tables: &tables)
      }
    }
    readAll([], RecordTables(), [ResolvedPath([.key("a")])])
  }

  @Test func `a damaged record whose maps share nodes is given up on soon`() throws {
    var peer = Peer(1)
    try peer.upsert(["a": .map(["x": .int(1), "y": .map([:]), "z": .map([:])]), "b": .map([:])])
    var bytes = try #require(peer.record).bytes
    // All map slots point at the root: a tree that doubles with each level.
    for offset in 28..<bytes.count - 8
    where bytes[offset] == 11 && bytes[offset + 5..<offset + 8].allSatisfy({ $0 == 0 }) {
      bytes.replaceSubrange(offset + 1..<offset + 5, with: [28, 0, 0, 0])
    }
    readAll(bytes, peer.tables, [])
    let damaged = Record(bytes: bytes)
    #expect(throws: CodecError.self) {
      _ = try damaged.withView { view throws(CodecError) in try view.fields(peer.tables.keys) }
    }
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `the checksum finds every single flipped bit of a record`(seed: UInt64) throws {
    var random = RandomDocument(seed: seed)
    let peer = try random.replicas(2)[0]
    let record = try #require(peer.record)
    #expect(peer.verifies)
    for bit in 0..<record.bytes.count * 8 {
      var bytes = record.bytes
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      if Record(bytes: bytes).withView({ $0.verify() }) { Issue.record("bit \(bit)") }
    }
    for count in 0..<record.bytes.count {
      let cut = Record(bytes: Array(record.bytes.prefix(count)))
      if cut.withView({ $0.verify() }) { Issue.record("cut to \(count)") }
    }
  }

  @Test func `document ids are refused unless canonical`() throws {
    var generator = SeededGenerator(seed: 1)
    var random = RandomDocument(seed: 1)
    var accepted = 0
    for turn in 0..<6_000 {
      var bytes = generator.bytes(below: 20)
      if turn % 2 == 0, let id = try? DocumentID(random.any()) { bytes = Self.mutated(id.bytes, &generator) }
      if turn % 5 == 0, !bytes.isEmpty { bytes[0] = UInt8(1 + generator.int(below: 6)) }
      guard let id = try? DocumentID(validating: bytes.span.bytes) else { continue }
      accepted += 1
      expectEqual(id.bytes, bytes)
      try expectEqual(DocumentID(id.value), id)
    }
    #expect(accepted > 100)
  }

  @Test func `version vectors are refused unless in order`() throws {
    var generator = SeededGenerator(seed: 2)
    for _ in 0..<3_000 {
      let vector = VersionVector(
        (0..<generator.int(below: 4)).map { _ in
          let writer = Writer(
            site: SiteID(high: 0, low: UInt64(generator.int(below: 3))),
            birth: ClockReading(rawValue: 1 + UInt64(generator.int(below: 3))))
          return .init(writer: writer, reading: ClockReading(rawValue: 5 + UInt64(generator.int(below: 300))))
        })
      var out = ByteWriter()
      vector.encode(to: &out)
      var reader = ByteReader(out.bytes.span.bytes)
      try expectEqual(VersionVector(from: &reader), vector)
      let bytes = Self.mutated(out.bytes, &generator)
      var mutated = ByteReader(bytes.span.bytes)
      guard let other = try? VersionVector(from: &mutated) else { continue }
      var again = ByteWriter()
      other.encode(to: &again)
      expect(bytes.starts(with: again.bytes))
    }
  }

  @Test func `values are refused unless canonical`() throws {
    var random = RandomDocument(seed: 3)
    for _ in 0..<4_000 {
      let value = random.any()
      var out = ByteWriter()
      ValueCodec.write(value, to: &out)
      expectEqual(ValueCodec.byteCount(of: value), out.count)
      var reader = ByteReader(out.bytes.span.bytes)
      try expect(ValueCodec.read(&reader) == value && reader.isAtEnd)
      let bytes = Self.mutated(out.bytes, &random.generator)
      var mutated = ByteReader(bytes.span.bytes)
      guard let other = try? ValueCodec.read(&mutated) else { continue }
      var again = ByteWriter()
      ValueCodec.write(other, to: &again)
      expect(bytes.starts(with: again.bytes))
    }
  }
}
