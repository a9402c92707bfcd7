import CRDTCore
import DocStore
import Synchronization
import TestKit
import Testing

@Suite struct LogTests {
  @Test func `each transaction leaves an entry, and one of its own for each group of several documents`()
    throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let peer = SiteID(high: 3, low: 0xAB_1234_5678)
    try store.put("a", [:])
    let receipt = try store.write(origin: .remote(7)) { tx in
      tx.noteSender(peer)
      for group in [["b"], ["c"], ["d", "e"], ["f"], ["a", "g"], ["h"], ["i"]] {
        try tx.beginGroup()
        for id in group { try tx.upsert(["n": .int(1)], id: DocumentID(id), into: "cars") }
      }
    }.1
    #expect(receipt.sequence == 8)
    #expect(
      try store.log() == [
        "1 loose user 1: ", "3 loose peer 5: b c", "4 bound peer 5: d e", "5 loose peer 7: f",
        "6 bound peer 7: a g", "8 loose peer 9: h i",
      ])
    #expect(!(try store.log(of: SiteID(high: 4, low: peer.low + 1))).joined().contains("peer"))
    #expect(try store.verify().damages == [])
  }

  @Test func `a document that changed again is told of by the later entry, one that is gone by none`() throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.write { tx in
      for id in ["a", "b", "c", "d"] { try tx.upsert([:], id: DocumentID(id), into: "cars") }
    }
    try store.write { tx in
      try tx.beginGroup()
      try tx.upsert(["n": .int(1)], id: DocumentID("b"), into: "cars")
      try tx.beginGroup()
      try tx.upsert(["n": .int(2)], id: DocumentID("b"), into: "cars")
      try tx.beginGroup()
      try tx.upsert(["n": .int(3)], id: DocumentID("c"), into: "cars")
      _ = try tx.evict(DocumentID("d"), in: "cars")
    }
    #expect(try store.log() == ["1 bound user 4: a", "4 loose user 4: b c", "4 evicted user 4: -d"])
    #expect(try store.log(after: 1) == ["4 loose user 4: b c", "4 evicted user 4: -d"])
    #expect(try store.log(after: 1, through: 3) == [])
    #expect(try store.log(limit: 1) == ["1 bound user 4: a"])
    #expect(try store.verify().damages == [])
  }

  @Test func `evictions are listed up to a bound, also where the document was written again at once`() throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.write { tx in
      for n in 0..<5_000 { try tx.upsert([:], id: DocumentID("\(n)"), into: "cars") }
    }
    try store.write { tx in
      _ = try tx.evict(DocumentID("7"), in: "cars")
      try tx.upsert([:], id: DocumentID("7"), into: "cars")
    }
    func evicted(_ sequence: UInt64) throws -> [DocumentID]? {
      try store.read { try $0.evictions(after: sequence)?.map(\.id) }
    }
    #expect(try evicted(0) == [DocumentID("7")])
    #expect(try evicted(2) == [])
    try store.write { tx in for n in 0..<4_096 { _ = try tx.evict(DocumentID("\(n)"), in: "cars") } }
    #expect(try evicted(2)?.count == 4_096)
    try store.write { tx in for n in 0..<4_097 { try tx.upsert([:], id: DocumentID("\(n)"), into: "cars") } }
    try store.write { tx in for n in 0..<4_097 { _ = try tx.evict(DocumentID("\(n)"), in: "cars") } }
    #expect(try evicted(2) == nil)
    #expect(try evicted(5) == [])
    #expect(try store.verify().damages == [])
  }

  @Test func `a commit is known by the low word of its id, as far back as the log goes`() throws {
    let fixture = try StoreFixture { $0.logEntries = 40 }
    let store = fixture.store
    #expect(try store.read { try $0.commitCheck(at: 0) } == 0)
    var ids: [UInt64: UInt64] = [:]
    for n in 0..<100 {
      let receipt = try store.write { tx in
        for part in 0..<(n % 3 + 1) {
          try tx.beginGroup()
          for member in 0..<(part + 1) {
            try tx.upsert([:], id: DocumentID("\(n) \(part) \(member)"), into: "cars")
          }
        }
      }.1
      ids[receipt.sequence] = receipt.id
    }
    try fixture.reopen()
    try fixture.store.read { tx in
      let start = tx.logStart
      #expect(start > 100)
      for (sequence, id) in ids {
        let expected = sequence > start ? UInt32(truncatingIfNeeded: id) : nil
        let found = try tx.commitCheck(at: sequence)
        expectEqual(found, expected)
      }
      let outside = (try tx.commitCheck(at: tx.sequence + 1), try tx.commitCheck(at: 0))
      #expect(outside == (nil, nil))
      let evictions = (try tx.evictions(after: start - 1), try tx.evictions(after: start))
      #expect(evictions.0 == nil)
      #expect(evictions.1 == [])
    }
    #expect(try fixture.store.statistics().expiry.logEntries <= 40)
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `a tombstone outlives the entry that tells of its deletion`() throws {
    // Time goes on within a transaction, too.
    let clock = Mutex<UInt64>(1_800_000_000_000)
    let fixture = try StoreFixture {
      $0.now = {
        clock.withLock { now in
          now += 1; return now
        }
      }
      $0.writerSlice = .zero
      $0.collectionInterval = nil
    }
    let store = fixture.store
    store.tombstoneLifetime = .milliseconds(300)
    for n in 0..<60 {
      try store.write { tx in
        for k in 0..<5 { try tx.upsert([:], id: DocumentID("\(n) \(k)"), into: "cars") }
      }
      try store.write { tx in for k in 0..<5 { try tx.remove(DocumentID("\(n) \(k)"), in: "cars") } }
      try store.collect()
      try store.read { tx in
        let cars = try #require(try tx.collection("cars"))
        for past in 0...n {
          for k in 0..<5 {
            let sequence = try tx.sequence(of: DocumentID("\(past) \(k)"), in: cars)
            expect(sequence == nil ? UInt64(past * 2 + 2) <= tx.logStart : true)
          }
        }
      }
    }
    #expect(try store.read { $0.logStart } > 0)
    #expect(try store.verify().damages == [])
  }

  @Test(arguments: 0..<6)
  func `what changed after any commit is what the log names after it`(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let fixture = try StoreFixture(seed: UInt64(seed)) { $0.logEntries = 60 }
    let store = fixture.store
    for _ in 0..<120 {
      do {
        try store.write { tx in
          for _ in 0..<(random.int(below: 6) + 1) {
            if random.oneIn(3) { try tx.beginGroup() }
            let id = try DocumentID("\(random.int(below: 40))")
            let name = random.oneIn(4) ? "boats" : "cars"
            switch random.int(below: 8) {
            case 0: _ = try tx.evict(id, in: name)
            case 1: try tx.remove(id, in: name)
            default: try tx.upsert(["n": .int(Int64(random.int(below: 9)))], id: id, into: name)
            }
          }
          if random.oneIn(10) { throw Interruption() }
        }
      } catch is Interruption {
      } catch let error as StoreError where error.code == .removedInTransaction {}
    }
    try store.read { tx in
      var sequences: [String: UInt64] = [:]
      for info in try tx.collections() {
        let collection = try #require(try tx.collection(info.name))
        try tx.forEachStoredRecord(in: collection) { number, id, _, _ in
          sequences["\(info.id) \(number.rawValue)"] = try tx.sequence(
            of: DocumentID(validating: id), in: collection)
          return true
        }
      }
      #expect(tx.logStart > 0)
      for start in tx.logStart...tx.sequence {
        var named: [String] = []
        try tx.changes(after: start) { entry in
          try entry.forEachMember { collection, number, _, _, _ in
            named.append("\(collection) \(number.rawValue)")
            return true
          }
          return true
        }
        // An entry of several groups is told of whole.
        let whole = try tx.commitCheck(at: start) != nil || start == tx.logStart
        let expected = sequences.filter { $0.value > start }.keys.sorted()
        expect(whole ? named.sorted() == expected : Set(named).isSuperset(of: expected))
      }
    }
    #expect(try store.verify().damages == [])
  }
}

extension Store {
  /// The log in words.
  fileprivate func log(
    of peer: SiteID = SiteID(high: 3, low: 0xAB_1234_5678), after sequence: UInt64 = 0,
    through last: UInt64 = .max, limit: Int = .max
  ) throws -> [String] {
    try read { tx in
      var lines: [String] = []
      try tx.changes(after: sequence, through: last, limit: limit) { entry in
        var names: [String] = []
        try entry.forEachMember { _, _, id, _, _ in
          if case .string(let name) = try DocumentID(validating: id).value { names.append(name) }
          return true
        }
        for key in entry.evicted {
          if case .string(let name) = key.id.value { names.append("-" + name) }
        }
        let origin = entry.origin == .user ? "user" : entry.origin == LogOrigin(peer: peer) ? "peer" : "other"
        lines.append(
          "\(entry.sequence) \(entry.kind) \(origin) \(entry.lastNumber.rawValue): "
            + names.joined(separator: " "))
        return true
      }
      return lines
    }
  }
}
