import CRDTCore
import CRDTModel
import Foundation
import TestKit
import Testing

/// Changes made on a record's bytes, held against the same changes made over the decoded tree.
@Suite struct RecordPatchTests {
  /// Seeds of each block: few in a test run, many where `PROPERTY_SEEDS` says so.
  static let seeds = ProcessInfo.processInfo.environment["PROPERTY_SEEDS"].flatMap { UInt64($0) } ?? 4

  /// Documents of many scalar fields, as applications have them, and edits that mostly change one.
  struct Script {
    var random: RandomDocument
    var peers: [Peer]
    var now: UInt64 = 1_760_000_000_000
    let isPlain: Bool

    private static let longKey = TextKey(String(repeating: "a long key ", count: 9))
    private static let names = (0..<12).map { TextKey("field\($0)") }

    init(seed: UInt64) throws {
      random = RandomDocument(seed: seed)
      isPlain = !seed.isMultiple(of: 2)
      peers = [Peer(1), Peer(2), Peer(3)]
      try peers[0].upsert(
        fields(), !isPlain && random.generator.oneIn(6) ? .insertDefaultIfAbsent : .merge, now: now)
      for index in 1..<3 { try peers[index].pull(peers[0]) }
    }

    private mutating func fields() -> [TextKey: Value] {
      var fields: [TextKey: Value] = [:]
      for name in Self.names.prefix(4 + random.generator.int(below: 9)) { fields[name] = scalar() }
      fields["map"] = .map(["x": scalar(), "y": .map(["z": scalar(), "w": scalar()]), "c": .counter(1)])
      if random.generator.oneIn(3) { fields[random.key()] = random.any() }
      if random.generator.oneIn(6) {
        fields["keys"] = .map([Self.longKey: scalar(), "k": scalar()])
      }
      return fields
    }

    private mutating func scalar() -> Value {
      random.value(kind: random.generator.pick([0, 1, 2, 2, 3, 4, 4, 5, 6, 9, 10]))
    }

    private mutating func path() -> [TextKey] {
      switch random.generator.int(below: 8) {
      case 0: ["map", random.generator.pick(["x", "y", "c", "absent"])]
      case 1: ["map", "y", random.generator.pick(["z", "w"])]
      case 2: [random.key()]
      case 3: ["keys", random.generator.oneIn(2) ? "k" : Self.longKey]
      default: [random.generator.pick(Self.names)]
      }
    }

    /// In every second script all edits are of the kind that is patched; in the others anything may happen.
    private mutating func plainEdit() -> Edit {
      switch random.generator.int(below: 6) {
      case 0: .increment(["map", "c"], random.generator.pick([1, -2, .max]))
      case 1: .set(["map", "y", random.generator.pick(["z", "w"])], scalar())
      default: .set([random.generator.pick(Array(Self.names.prefix(4)))], scalar())
      }
    }

    mutating func edit() -> Edit {
      if isPlain { return plainEdit() }
      return switch random.generator.int(below: 10) {
      case 0: .increment(path(), random.generator.pick([1, -2, .max, .min]))
      case 1: .increment(["map", "c"], 1)
      case 2: .restart(path(), 4)
      case 3: random.generator.oneIn(3) ? .remove(path()) : .replace(path(), scalar())
      case 4: random.generator.oneIn(4) ? random.edit() : .set(path(), .counter(3))
      default: .set(path(), scalar())
      }
    }

    mutating func smallUpsert() -> [TextKey: Value] {
      var fields: [TextKey: Value] = [:]
      for _ in 0..<(1 + random.generator.int(below: 3)) {
        fields[random.generator.pick(Self.names)] = scalar()
      }
      if random.generator.oneIn(4) { fields["map"] = .map(["x": scalar()]) }
      return fields
    }
  }

  /// What a change came to: the document, or the refusal's code.
  private enum Outcome {
    case document(EncodedDocument?, RecordTables)
    case refused(DocumentError.Code)
  }

  private func outcome(_ peer: Peer, _ change: (inout Peer) throws(DocumentError) -> EncodedDocument?)
    -> Outcome
  {
    var peer = peer
    do throws(DocumentError) {
      let document = try change(&peer)
      return .document(document, peer.tables)
    } catch {
      return .refused(error.code)
    }
  }

  /// Checks one change both ways on one replica, which goes on with the patched record.
  ///
  /// - Returns: Whether the patch did it.
  private func compare(
    _ peer: inout Peer, _ seed: UInt64,
    _ change: (inout Peer, StoredDocument?, CodecRoute) throws(DocumentError) -> EncodedDocument?
  ) throws -> Bool {
    let standing = peer.document
    let patched = outcome(peer) { peer throws(DocumentError) in try change(&peer, standing?.stored, .patch) }
    let tree = outcome(peer) { peer throws(DocumentError) in try change(&peer, standing?.stored, .tree) }
    guard case .document(let measure, let tables) = tree else {
      if case .document(.some, _) = patched { Issue.record("a patch did what is refused, seed \(seed)") }
      return false
    }
    guard case .document(.some(let document), let patchedTables) = patched else {
      if let measure { (peer.document, peer.tables) = (measure, tables) }
      return false
    }
    let expected = try #require(measure, "a patch wrote what is not to be written, seed \(seed)")
    var (a, b) = (peer, peer)
    (a.document, a.tables) = (document, patchedTables)
    (b.document, b.tables) = (expected, tables)
    expect(a.verifies && document.isAlive == expected.isAlive, "seed \(seed)")
    expectEqual(document.summary, expected.summary, "seed \(seed)")
    try expectEqual(a.wire(), b.wire(), "seed \(seed)")
    try expectEqual(a.fields, b.fields, "seed \(seed)")
    try expectEqual(a.state, b.state, "seed \(seed)")
    try expectEqual(a.state?.summary, document.summary, "seed \(seed)")
    peer = a
    return true
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `patching a record and changing its tree come to the same`(block: UInt64) throws {
    var (patches, all) = (0, 0)
    for seed in block * Self.seeds..<(block + 1) * Self.seeds {
      var script = try Script(seed: seed)
      for _ in 0..<40 {
        script.now += UInt64(script.random.generator.int(below: 3))
        let index = script.random.generator.int(below: 3)
        all += 1
        let isPatched: Bool
        if script.random.generator.oneIn(5) {
          let fields = script.smallUpsert()
          let strategy: WriteStrategy = script.random.generator.oneIn(2) ? .merge : .updateDifferentValues
          let stamping = script.peers[index].stamping(script.now)
          isPatched = try compare(&script.peers[index], seed) { peer, stored, route throws(DocumentError) in
            try DocumentCodec.upsert(
              fields, strategy: strategy, existing: stored, stamping: stamping, tables: &peer.tables,
              by: route)
          }
        } else {
          let edits = (0..<(1 + script.random.generator.int(below: 2))).map { _ in script.edit() }
          let stamping = script.peers[index].stamping(script.now)
          isPatched = try compare(&script.peers[index], seed) { peer, stored, route throws(DocumentError) in
            try DocumentCodec.update(
              edits, existing: stored, stamping: stamping, tables: &peer.tables, by: route)
          }
        }
        if isPatched { patches += 1 }
        if script.random.generator.oneIn(4) {
          let other = script.random.generator.int(below: 3)
          try script.peers[other].pull(script.peers[index])
        }
      }
    }
    #expect(patches * 5 > all, "\(patches) of \(all) changes were patched")
  }

  @Test func `what a record's memory held before makes no difference`() throws {
    var script = try Script(seed: 11)
    var patches = 0
    for turn in 0..<400 {
      script.now += 1
      var peer = script.peers[0]
      let document = try #require(peer.document)
      let edit = script.edit()
      let stamping = peer.stamping(script.now)
      var tables = peer.tables
      let used = script.random.generator.int(below: document.record.count * 2)
      var memory = [UInt8](repeating: UInt8(truncatingIfNeeded: turn), count: used)
      do throws(DocumentError) {
        let new = try DocumentCodec.update(
          [edit], existing: document.stored, stamping: stamping, tables: &tables)
        tables = peer.tables
        let again = try DocumentCodec.update(
          [edit], existing: document.stored, stamping: stamping, tables: &tables, in: &memory)
        expectEqual(again?.record, new?.record, "turn \(turn)")
        expectEqual(again?.summary, new?.summary, "turn \(turn)")
        guard let again else { continue }
        expect(Record(bytes: again.record).withView { $0.verify() }, "turn \(turn)")
        patches += 1
        (peer.document, peer.tables) = (again, tables)
        script.peers[0] = peer
      } catch {
        // Edits that are refused are refused alike; what else they come to is tested above.
        continue
      }
    }
    #expect(patches > 100, "\(patches) patches")
  }

  @Test func `names that a table has at hand are told apart by their bytes`() throws {
    // More than are kept at hand, two that compare equal as text, and some that no string holds in itself.
    let accented: [TextKey] = ["caf\u{E9}", "cafe\u{301}"]
    let long = (0..<4).map { TextKey("a field with a long name \($0)") }
    let names = (0..<24).map { TextKey("field\($0)") } + accented + long + [""]
    #expect(accented[0].text == accented[1].text)
    let peer = Peer(1)
    var tables = peer.tables
    let stamping = Stamping(site: peer.site, reading: ClockReading(milliseconds: 1_760_000_000_000))
    let first = Dictionary(
      uniqueKeysWithValues: names.filter { $0 != accented[1] }.map { ($0, Value.int(0)) })
    var document = try #require(
      try DocumentCodec.upsert(first, strategy: .merge, existing: nil, stamping: stamping, tables: &tables))
    document = try #require(
      try DocumentCodec.update(
        [.set([accented[1]], .int(0))], existing: document.stored, stamping: stamping, tables: &tables))
    var random = RandomDocument(seed: 5)
    for turn in 1...600 {
      // Now and then the same name again, and now and then text in memory of its own.
      let name = TextKey(String(decoding: Array(random.generator.pick(names).utf8), as: UTF8.self))
      for value in [Int64(turn), Int64(-turn)] {
        var unused = RecordTables(keys: KeyTable(names: tables.keys.names), sites: tables.sites)
        let edits = [Edit.set([name], .int(value))]
        let expected = try DocumentCodec.update(
          edits, existing: document.stored, stamping: stamping, tables: &unused)
        let updated = try DocumentCodec.update(
          edits, existing: document.stored, stamping: stamping, tables: &tables)
        expectEqual(updated?.record, expected?.record, "turn \(turn), \(name)")
        expectEqual(updated?.summary, expected?.summary, "turn \(turn), \(name)")
        document = try #require(updated, "turn \(turn), \(name)")
        // Simulates an aborted transaction: its tables are dropped, and the next one continues with the
        // former tables.
        if turn.isMultiple(of: 7) { tables = unused }
      }
    }
  }

  @Test func `a record that is patched for ever stays within its bounds`() throws {
    var peer = Peer(1)
    try peer.upsert(
      Dictionary(uniqueKeysWithValues: (0..<20).map { ("field\($0)", .string("a value of some length")) }),
      now: 1_000)
    let first = try #require(peer.record).bytes.count
    var generator = SeededGenerator(seed: 5)
    var largest = 0
    for turn in 1...4_000 as ClosedRange<UInt64> {
      let text = String(repeating: "x", count: 7 + generator.int(below: 30))
      try peer.update([.set(["field\(generator.int(below: 20))"], .string(text))], now: 1_000 + turn * 1_000)
      largest = max(largest, try #require(peer.record).bytes.count)
    }
    #expect(peer.verifies)
    #expect(largest <= first * 2, "\(largest) bytes of \(first)")
  }

  @Test func `counting for ever makes no record grow`() throws {
    var peer = Peer(1)
    try peer.upsert(["count": .counter(0), "other": .string("x")], now: 1_000)
    for turn in 1...2_000 as ClosedRange<UInt64> {
      try peer.update([.increment(["count"], 1)], now: 1_000 + turn)
    }
    #expect(try peer.fields == ["count": .counter(2_000), "other": .string("x")])
    #expect(peer.metadataBytes <= 40)
  }
}

extension Peer {
  var state: DocumentState? {
    get throws {
      try record?.withView { view throws(CodecError) in try DocumentState(view, tables: tables) }
    }
  }
}
