import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

/// What modules above keep in the store beside the documents.
@Suite struct SideTableTests {
  private let keys = SideTable("http.keys")
  private let audit = SideTable("login.audit")

  private func entries(_ table: SideTable, from: [UInt8] = [], in store: Store) throws -> [[[UInt8]]] {
    try store.read { tx in
      var found: [[[UInt8]]] = []
      try tx.forEachSideEntry(table, from: from) { key, value in
        found.append([key, value])
        return true
      }
      return found
    }
  }

  private func reversedKeys(_ table: SideTable, from: [UInt8], in store: Store) throws -> [[UInt8]] {
    try store.read { tx in
      var found: [[UInt8]] = []
      try tx.forEachSideKey(table, from: from, reversed: true) { key, _ in
        found.append(key)
        return true
      }
      return found
    }
  }

  @Test func `a value is written with the documents of its transaction, or not at all`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    #expect(try store.read { try $0.sideValue(keys, key: [1]) } == nil)
    #expect(throws: Interruption.self) {
      try store.write { tx in
        try tx.upsert([:], id: DocumentID("a"), into: "cars")
        try tx.setSideValue([7], keys, key: [1])
        #expect(try tx.sideValue(keys, key: [1]) == [7])
        throw Interruption()
      }
    }
    #expect(try store.read { try $0.sideValue(keys, key: [1]) } == nil)
    #expect(try store.count(in: "cars") == nil)
    try store.write { tx in
      try tx.upsert([:], id: DocumentID("a"), into: "cars")
      try tx.setSideValue([8], keys, key: [1])
    }
    try fixture.reopen()
    #expect(try fixture.store.read { try $0.sideValue(keys, key: [1]) } == [8])
    #expect(try fixture.store.count(in: "cars") == 1)
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `a transaction that writes side values alone takes no place in the log, and is told to nobody`()
    throws
  {
    let fixture = try StoreFixture()
    let log = CommitLog()
    let listener = fixture.store.onCommit { log.append($0) }
    defer { listener.cancel() }
    let receipt = try fixture.store.write { tx in try tx.setSideValue([1], keys, key: [1]) }.1
    #expect(receipt.sequence == 0)
    #expect(log.all.isEmpty)
    #expect(try fixture.store.read { $0.sequence } == 0)
    fixture.store.crash()
    try fixture.reopen()
    #expect(try fixture.store.read { try $0.sideValue(keys, key: [1]) } == [1])
  }

  @Test func `a store that keeps nothing beside its documents has no table for it`() throws {
    let fixture = try StoreFixture()
    try fixture.store.put("a", [:])
    try fixture.store.write { tx in
      #expect(try tx.sideValue(keys, key: [1]) == nil)
      try tx.setSideValue(nil, keys, key: [1])
      var count = 0
      try tx.forEachSideEntry(keys) { _, _ in
        count += 1
        return true
      }
      #expect(count == 0)
    }
    #expect(try StoreFile(fixture).tableCount == 17)
    try fixture.store.compact()
    #expect(try StoreFile(fixture).tableCount == 17)
    try fixture.store.write { tx in try tx.setSideValue([1], keys, key: [1]) }
    #expect(try StoreFile(fixture).tableCount == 18)
  }

  @Test func `tables are apart, and their entries come in the order of their keys`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.write { tx in
      for key in [[2, 0], [1], [], [2], [255, 255]] as [[UInt8]] { try tx.setSideValue(key, keys, key: key) }
      try tx.setSideValue([], audit, key: [0])
      try tx.setSideValue([3], SideTable("http"), key: [0])
    }
    let ordered: [[UInt8]] = [[], [1], [2], [2, 0], [255, 255]]
    #expect(try entries(keys, in: store) == ordered.map { [$0, $0] })
    #expect(try entries(keys, from: [2], in: store) == ordered[2...].map { [$0, $0] })
    #expect(try entries(keys, from: [255, 255, 0], in: store) == [])
    #expect(try entries(audit, in: store) == [[[0], []]])
    var first: [UInt8]?
    try store.read { tx in
      try tx.forEachSideEntry(keys, from: [1, 1]) { key, _ in
        first = key
        return false
      }
    }
    #expect(first == [2])
    var lengths: [Int] = []
    try store.read { tx in
      try tx.forEachSideKey(keys) { _, valueBytes in
        lengths.append(valueBytes)
        return true
      }
    }
    #expect(lengths == [0, 1, 1, 2, 2])
    #expect(try reversedKeys(keys, from: [2, 0], in: store) == Array(ordered[..<4].reversed()))
    #expect(try reversedKeys(keys, from: [2, 0, 9], in: store) == Array(ordered[..<4].reversed()))
    #expect(try reversedKeys(keys, from: [255, 255, 255], in: store) == Array(ordered.reversed()))
    #expect(try reversedKeys(keys, from: [], in: store) == [[]])
    #expect(try reversedKeys(audit, from: [], in: store) == [])
    #expect(try reversedKeys(SideTable("nowhere"), from: [9], in: store) == [])
    try store.write { tx in
      try tx.setSideValue(nil, keys, key: [2])
      try tx.setSideValue([9], keys, key: [1])
    }
    #expect(
      try entries(keys, in: store) == [
        [[], []], [[1], [9]], [[2, 0], [2, 0]], [[255, 255], [255, 255]],
      ])
  }

  @Test func `a key or a value that is too long is refused by name, and the transaction goes on`() throws {
    let fixture = try StoreFixture()
    let long = [UInt8](repeating: 1, count: SideTable.keyBytes + 1)
    let large = [UInt8](repeating: 1, count: SideTable.valueBytes + 1)
    try fixture.store.write { tx in
      let key = #expect(throws: StoreError.self) { try tx.setSideValue([1], keys, key: long) }
      #expect(key?.code == .limit)
      #expect(key?.message == "A key of the side table http.keys has 385 bytes, and 384 are allowed")
      let value = #expect(throws: StoreError.self) { try tx.setSideValue(large, keys, key: [1]) }
      #expect(value?.code == .limit)
      #expect(
        value?.message == "A value of the side table http.keys has 16777217 bytes, and 16777216 are allowed")
      try tx.setSideValue([2], keys, key: Array(long.dropLast()))
      try tx.setSideValue([3], SideTable(String(repeating: "x", count: 32)), key: Array(long.dropLast()))
      try tx.setSideValue(Array(large.dropLast()), keys, key: [1])
    }
    #expect(code { try fixture.store.read { try $0.sideValue(keys, key: long) } } == .limit)
    #expect(code { try entries(keys, from: long, in: fixture.store) } == .limit)
    #expect(try fixture.store.read { try $0.sideValue(keys, key: Array(long.dropLast())) } == [2])
    #expect(try fixture.store.read { try $0.sideValue(keys, key: [1])?.count } == SideTable.valueBytes)
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `a transaction cannot write while it goes through entries`() throws {
    let fixture = try StoreFixture()
    try fixture.store.write { tx in
      try tx.setSideValue([1], keys, key: [1])
      var refusal: StoreError.Code?
      try tx.forEachSideEntry(keys) { _, _ in
        refusal = code { try tx.setSideValue([2], keys, key: [2]) }
        return true
      }
      #expect(refusal == .writeInsideRead)
    }
  }

  @Test func `a snapshot keeps what it saw`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.read { tx in
      try store.write { try $0.setSideValue([1], keys, key: [1]) }
      let before = try tx.sideValue(keys, key: [1])
      #expect(before == nil)
    }
    try store.read { tx in
      try store.write { try $0.setSideValue(nil, keys, key: [1]) }
      let before = try tx.sideValue(keys, key: [1])
      #expect(before == [1])
    }
    #expect(try store.read { try $0.sideValue(keys, key: [1]) } == nil)
  }

  // MARK: - The table comes into being

  @Test(arguments: [[false], [true, false], [false, true, false], [true, true]])
  func `transactions that share a commit make the table, each for itself`(_ fates: [Bool]) throws {
    let fixture = try StoreFixture { $0.drive = .manual }
    let store = fixture.store
    let failures = Mutex(0)
    store.enqueue({ try $0.upsert([:], id: DocumentID("first"), into: "cars") }, completion: { _ in })
    for (index, fails) in fates.enumerated() {
      store.enqueue(
        { tx in
          try expect(tx.sideValue(keys, key: [UInt8(index)]) == nil)
          var seen = 0
          try tx.forEachSideEntry(keys) { _, _ in
            seen += 1
            return true
          }
          expectEqual(seen, fates.prefix(index).count { !$0 })
          try tx.setSideValue([1], keys, key: [UInt8(index)])
          if fails { throw Interruption() }
        },
        completion: { outcome in
          if case .failure = outcome { failures.withLock { $0 += 1 } }
        })
    }
    store.step(upTo: .announced)
    #expect(failures.withLock { $0 } == fates.count { $0 })
    let expected = fates.indices.filter { !fates[$0] }.map { [[UInt8($0)], [1]] }
    #expect(try entries(keys, in: store) == expected)
    try fixture.reopen()
    #expect(try entries(keys, in: fixture.store) == expected)
    try fixture.store.write { try $0.setSideValue([2], keys, key: [99]) }
    #expect(try fixture.store.read { try $0.sideValue(keys, key: [99]) } == [2])
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `a commit that fails leaves no table, and the next one makes it`() throws {
    let isFailing = Mutex(true)
    let fixture = try StoreFixture { $0.commitFault = { isFailing.withLock { $0 ? ENOSPC : 0 } } }
    let store = fixture.store
    #expect(code { try store.write { try $0.setSideValue([1], keys, key: [1]) } } == .full)
    #expect(try store.read { try $0.sideValue(keys, key: [1]) } == nil)
    isFailing.withLock { $0 = false }
    try store.write { tx in
      #expect(try tx.sideValue(keys, key: [1]) == nil)
      try tx.setSideValue([2], keys, key: [1])
    }
    #expect(try store.read { try $0.sideValue(keys, key: [1]) } == [2])
  }

  // MARK: - Maintenance

  @Test func `compaction and backups take side tables along, and the copies can be written to`() throws {
    let fixture = try StoreFixture()
    let large = [UInt8](repeating: 7, count: 100_000)
    try fixture.store.write { tx in
      for n in 0..<500 { try tx.setSideValue([UInt8(n & 255)], keys, key: [UInt8(n >> 8), UInt8(n & 255)]) }
      try tx.setSideValue(large, audit, key: [1])
    }
    let before = try entries(keys, in: fixture.store)
    try fixture.store.compact()
    #expect(try entries(keys, in: fixture.store) == before)
    try fixture.store.write { try $0.setSideValue([1], keys, key: [9]) }
    let path = fixture.directory.file("backup")
    try fixture.store.backup(to: path)
    let copy = try Store.open(at: path)
    defer { copy.close() }
    #expect(try entries(keys, in: copy) == before + [[[9], [1]]])
    #expect(try copy.read { try $0.sideValue(audit, key: [1]) } == large)
    try copy.write { try $0.setSideValue([2], keys, key: [9]) }
    #expect(try copy.read { try $0.sideValue(keys, key: [9]) } == [2])
    #expect(try copy.verify().damages == [])
    #expect(try fixture.store.verify().damages == [])
    // Once all is gone the table stays, empty.
    try copy.write { tx in
      for entry in before + [[[9]]] { try tx.setSideValue(nil, keys, key: entry[0]) }
      try tx.setSideValue(nil, audit, key: [1])
    }
    try copy.compact()
    #expect(try entries(keys, in: copy) == [])
    try copy.write { try $0.setSideValue([3], keys, key: [9]) }
    #expect(try copy.verify().damages == [])
  }

  @Test func `a full disk refuses a value, and removing makes room`() throws {
    let fixture = try StoreFixture { $0.mapBytes = 1 << 20 }
    let value = [UInt8](repeating: 1, count: 3_000)
    var count = 0
    while code(of: { try fixture.store.write { try $0.setSideValue(value, audit, key: [UInt8(count)]) } })
      == nil
    {
      count += 1
      try #require(count < 255)
    }
    #expect(count > 20)
    try fixture.store.write { tx in
      for n in 0..<count / 2 { try tx.setSideValue(nil, audit, key: [UInt8(n)]) }
    }
    try fixture.store.write { try $0.setSideValue(value, audit, key: [0]) }
    #expect(try entries(audit, in: fixture.store).count == count - count / 2 + 1)
  }

  @Test func `a damaged entry is named by verification, missed by its key alone, and written over`() throws {
    let fixture = try StoreFixture()
    try fixture.store.write { tx in
      try tx.setSideValue(Array("what is damaged".utf8), keys, key: [1])
      try tx.setSideValue(Array("what is whole".utf8), keys, key: [2])
    }
    try fixture.reopen {
      try FileDamage.replace(
        Array("is damaged".utf8), by: Array("is dam\u{7}ged".utf8), at: fixture.dataPath)
    }
    let store = fixture.store
    #expect(code { try store.read { try $0.sideValue(keys, key: [1]) } } == .corrupt)
    #expect(try store.read { try $0.sideValue(keys, key: [2]) } == Array("what is whole".utf8))
    #expect(code { try entries(keys, in: store) } == .corrupt)
    var (seen, damaged) = ([[UInt8]](), [[UInt8]]())
    try store.read { tx in
      try tx.forEachSideEntry(keys, damaged: { damaged.append($0) }) { key, _ in
        seen.append(key)
        return true
      }
    }
    #expect(seen == [[2]] && damaged == [[1]])
    let report = try store.verify()
    #expect(report.damages.map(\.kind) == [.entry])
    #expect(report.damages.first?.message.contains("table side") == true)
    try store.write { try $0.setSideValue([5], keys, key: [1]) }
    #expect(try store.read { try $0.sideValue(keys, key: [1]) } == [5])
    #expect(try store.verify().damages == [])
  }

  @Test func `a key that is none of a side table's is found by verification`() throws {
    let fixture = try StoreFixture()
    try fixture.store.write { try $0.setSideValue([1], SideTable("a-name"), key: [1]) }
    // The name's length and the check no longer fit; the page does.
    try fixture.reopen {
      try FileDamage.replace(Array("\u{6}a-name".utf8), by: Array("\u{7}a-name".utf8), at: fixture.dataPath)
    }
    #expect(try fixture.store.verify().damages.map(\.kind) == [.entry])
  }

  @Test func `a key that begins with nothing is damage to a rescue`() throws {
    let fixture = try StoreFixture()
    try fixture.store.put("a", [:])
    try fixture.store.write { tx in
      try tx.setSideValue([1], SideTable("a-name"), key: [1])
      try tx.setSideValue([2], keys, key: [1])
    }
    fixture.store.close()
    // The key stays the smallest one.
    try FileDamage.replace(Array("\u{6}a-name".utf8), by: Array("\u{0}a-name".utf8), at: fixture.dataPath)
    let target = fixture.directory.file("rescued")
    let report = try Store.rescue(from: fixture.path, to: target)
    #expect(report.sideEntryCount == 1)
    #expect(report.damage.damages.map(\.kind) == [.entry])
  }

  @Test func `a rescue takes what is whole`() throws {
    let fixture = try StoreFixture()
    try fixture.store.put("a", ["n": .int(1)])
    try fixture.store.write { tx in
      for n in 0..<2_500 {
        try tx.setSideValue([UInt8](repeating: 1, count: 40), keys, key: [UInt8(n >> 8), UInt8(n & 255)])
      }
      try tx.setSideValue(Array("will be damaged".utf8), audit, key: [1])
      try tx.setSideValue(Array("stays".utf8), audit, key: [2])
    }
    fixture.store.close()
    try FileDamage.replace(
      Array("be damaged".utf8), by: Array("be dam\u{7}ged".utf8), at: fixture.dataPath)
    let target = fixture.directory.file("rescued")
    let report = try Store.rescue(from: fixture.path, to: target)
    #expect(report.sideEntryCount == 2_501)
    #expect(report.damage.damages.map(\.kind) == [.entry])
    let store = try Store.open(at: target)
    defer { store.close() }
    #expect(try entries(keys, in: store).count == 2_500)
    #expect(try entries(audit, in: store) == [[[2], Array("stays".utf8)]])
    #expect(try store.verify().damages == [])
  }

  @Test func `an entry is written as it always was`() throws {
    let fixture = try StoreFixture()
    try fixture.store.write { try $0.setSideValue([0xAB, 0xCD], SideTable("http.keys"), key: [1, 2, 3]) }
    let entries = try fixture.store.entries(of: "side")
    #expect(entries.map(\.0) == [[9] + Array("http.keys".utf8) + [1, 2, 3]])
    #expect(entries.map { Array($0.1.prefix(2)) } == [[0xAB, 0xCD]])
    #expect(entries.map(\.1.count) == [6])
    #expect(entries.map { Array($0.1.suffix(4)) } == [Self.check([0xAB, 0xCD], at: entries[0].0)])
  }

  private static func check(_ value: [UInt8], at key: [UInt8]) -> [UInt8] {
    let lanes = HashLanes(value.span.bytes, seed: HashLanes(key.span.bytes).first)
    var out = ByteWriter()
    out.writeFixed(UInt32(truncatingIfNeeded: lanes.first ^ (lanes.second >> 32)))
    return out.bytes
  }

  // MARK: - Against a model

  @Test(arguments: 1...8) func `what is read is what a dictionary would hold, whatever happens`(
    _ seed: UInt64
  )
    throws
  {
    var random = SeededGenerator(seed: seed)
    let fixture = try StoreFixture(seed: seed) { $0.drive = .manual }
    let working = SideTable(working: "staging")
    let tables = [keys, audit, SideTable("h"), working]
    var model: [SideTable: [[UInt8]: [UInt8]]] = [:]
    for _ in 0..<120 {
      let steps = (0..<random.int(below: 12)).map { _ -> Step in
        let table = tables[random.int(below: tables.count)]
        let key = Self.bytes(&random, below: 3, values: 4)
        return Step(
          table: table, key: table == working && key.isEmpty ? [0] : key,
          value: random.oneIn(3) ? nil : Self.bytes(&random, below: random.oneIn(9) ? 9_000 : 40, values: 256)
        )
      }
      let isKept = !random.oneIn(4)
      let stage = CommitStage.allCases[random.int(below: CommitStage.allCases.count)]
      let before = model
      var after = model
      for step in steps { after[step.table, default: [:]][step.key] = step.value }
      fixture.store.enqueue(
        { tx in
          var seen = before
          for step in steps {
            try expectEqual(tx.sideValue(step.table, key: step.key), seen[step.table]?[step.key])
            try tx.setSideValue(step.value, step.table, key: step.key)
            seen[step.table, default: [:]][step.key] = step.value
          }
          for table in tables {
            var found: [[UInt8]] = []
            try tx.forEachSideEntry(table) { key, value in
              expectEqual(seen[table]?[key], value)
              found.append(key)
              return true
            }
            expectEqual(found, Self.sorted(seen[table] ?? [:]))
            var reversed: [[UInt8]] = []
            try tx.forEachSideKey(table, from: [255], reversed: true) { key, _ in
              reversed.append(key)
              return true
            }
            expectEqual(reversed, found.reversed())
          }
          if !isKept { throw Interruption() }
        }, completion: { _ in })
      if random.oneIn(6) {
        // The process ends somewhere on the way.
        fixture.store.step(upTo: stage)
        fixture.store.crash()
        try fixture.reopen()
        if isKept, stage >= .committed { model = after }
      } else {
        fixture.store.step(upTo: .announced)
        if isKept { model = after }
      }
      if random.oneIn(20) { try fixture.store.compact() }
      for table in tables {
        let from = Self.bytes(&random, below: 3, values: 4)
        let below = Self.sorted(model[table] ?? [:]).filter { !from.lexicographicallyPrecedes($0) }
        try expectEqual(reversedKeys(table, from: from, in: fixture.store), below.reversed())
        let expected = Self.sorted(model[table] ?? [:]).filter { !$0.lexicographicallyPrecedes(from) }
        try expectEqual(entries(table, from: from, in: fixture.store).map { $0[0] }, expected)
        for key in expected {
          try expectEqual(fixture.store.read { try $0.sideValue(table, key: key) }, model[table]?[key])
        }
      }
    }
    #expect(try fixture.store.verify().damages == [])
  }

  private struct Step: Sendable {
    let table: SideTable
    let key: [UInt8]
    let value: [UInt8]?
  }

  private static func bytes(_ random: inout SeededGenerator, below count: Int, values: Int) -> [UInt8] {
    (0..<random.int(below: count)).map { _ in UInt8(random.int(below: values)) }
  }

  private static func sorted(_ entries: [[UInt8]: [UInt8]]) -> [[UInt8]] {
    entries.keys.sorted { $0.lexicographicallyPrecedes($1) }
  }
}

/// What a store's file says of itself.
private struct StoreFile {
  let tableCount: Int

  init(_ fixture: StoreFixture) throws {
    // The table of the names is the only page that has all of them.
    let data = try Data(contentsOf: URL(fileURLWithPath: fixture.dataPath))
    let names = ["siteRuns", "certificates", "oversize", "collections"]
    var best = 0
    for start in stride(from: 8_192, to: data.count, by: 4_096) {
      let page = data[start..<start + 4_096]
      guard names.allSatisfy({ page.range(of: Data($0.utf8)) != nil }) else { continue }
      let lower = Int(page[start + 12]) | Int(page[start + 13]) << 8
      best = max(best, (lower - 16) / 2)
    }
    tableCount = best
  }
}
