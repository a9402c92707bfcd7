import CRDTCore
import DocStore
import Dispatch
import Synchronization
import TestKit
import Testing

/// What is remembered of documents' numbers never shows, whatever became of them since.
@Suite struct NumberCacheTests {
  private struct Stop: Error {}

  private func value(_ id: String, _ tx: borrowing ReadTransaction) throws -> Value? {
    guard let cars = try tx.collection("cars") else { return nil }
    return try tx.withRecord(cars, DocumentID(id)) { record, _ in try record.fields(cars.keys)["v"] } ?? nil
  }

  @Test func `an older snapshot finds what it had, while the document left and came back`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.put("a", ["v": .int(1)])
    try store.put("b", ["v": .int(1)])
    try store.read { old in
      #expect(try value("a", old) == .int(1))
      try store.write { _ = try $0.evict(DocumentID("a"), in: "cars") }
      #expect(try store.fields("a", in: "cars") == nil)
      #expect(try value("a", old) == .int(1))
      try store.put("a", ["v": .int(2)])
      for _ in 0..<3 {
        try expectEqual(store.fields("a", in: "cars"), ["v": .int(2)])
        try expectEqual(value("a", old), .int(1))
      }
      #expect(old.sequence == 2)
    }
    #expect(try store.write { try $0.update(DocumentID("a"), in: "cars", [.set(["v"], .int(3))]) }.0)
    #expect(try store.fields("a", in: "cars") == ["v": .int(3)])
    #expect(try store.verify().damages == [])
  }

  @Test func `a number that a failed transaction gave up is found under the next document alone`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    for round in 0..<20 {
      #expect(throws: Stop.self) {
        try store.write { tx in
          try tx.upsert(["v": .int(0)], id: DocumentID("lost"), into: "cars")
          let cars = try #require(try tx.collection("cars"))
          try expectEqual(tx.withRecord(cars, DocumentID("lost")) { _, _ in true }, true)
          throw Stop()
        }
      }
      try store.put("\(round)", ["v": .int(Int64(round))])
      try expect(store.fields("lost", in: "cars") == nil)
      try expectEqual(store.fields("\(round)", in: "cars"), ["v": .int(Int64(round))])
      let isChanged = try store.write { tx in
        try tx.update(DocumentID("lost"), in: "cars", [.set(["v"], .int(1))])
      }.0
      expect(!isChanged)
    }
    #expect(try store.count(in: "cars") == 20)
    #expect(try store.verify().damages == [])
  }

  @Test(arguments: [0, 8, 16, 1 << 12])
  func `documents are found however few numbers there is room for`(capacity: Int) throws {
    let fixture = try StoreFixture { $0.numberCapacity = capacity }
    var random = SeededGenerator(seed: UInt64(capacity) + 1)
    var model: [String: Int64] = [:]
    for round in 0..<60 {
      let ids = (0..<40).map { _ in "k\(random.int(below: 900))" }
      try fixture.store.write { tx in
        for (place, id) in ids.enumerated() {
          let value = Int64(round * 100 + place)
          if random.oneIn(5) {
            let wasThere = try tx.evict(DocumentID(id), in: "cars")
            expectEqual(wasThere, model.removeValue(forKey: id) != nil)
          } else {
            try tx.upsert(["v": .int(value)], id: DocumentID(id), into: "cars")
            model[id] = value
          }
        }
      }
      if round == 30 { try fixture.reopen() }
      if round == 45 { try fixture.store.compact() }
      let asked = (0..<60).map { _ in "k\(random.int(below: 900))" }
      let found = try fixture.store.read { tx in try asked.map { try value($0, tx) } }
      expectEqual(found, asked.map { model[$0].map(Value.int) }, "capacity \(capacity), round \(round)")
    }
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `readers find every document of their snapshot while a writer replaces them`() throws {
    let fixture = try StoreFixture { $0.numberCapacity = 64 }
    let store = fixture.store
    let count = 200
    func ids(_ range: Range<Int>) throws -> [DocumentID] { try range.map { try DocumentID("k\($0)") } }
    let all = try ids(0..<count)
    try store.write { tx in
      for id in all { try tx.upsert(["v": .int(0)], id: id, into: "cars") }
    }
    let failures = Mutex<[String]>([])
    let isDone = Atomic(false)
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      do {
        if thread == 0 {
          defer { isDone.store(true, ordering: .relaxed) }
          for round in 1...60 {
            let part = all.indices.filter { $0 % 7 == round % 7 }
            // Gone and back within one transaction, with a new number each.
            try store.write { tx in
              for index in part { _ = try tx.evict(all[index], in: "cars") }
              for index in part.shuffled() {
                try tx.upsert(["v": .int(Int64(round))], id: all[index], into: "cars")
              }
            }
          }
          return
        }
        var random = SeededGenerator(seed: UInt64(thread))
        repeat {
          try store.read { tx in
            let cars = try #require(try tx.collection("cars"))
            for _ in 0..<200 {
              let id = all[random.int(below: count)]
              let isFound = try tx.withRecord(cars, id) { record, _ in
                try record.fields(cars.keys)["v"] != nil
              }
              if isFound != true { failures.withLock { $0.append("\(id) in \(tx.sequence)") } }
            }
          }
        } while !isDone.load(ordering: .relaxed)
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(try store.verify().damages == [])
  }

  @Test func `a damaged list of ids is reported, though documents are found without it`() throws {
    let fixture = try StoreFixture()
    for id in ["k5", "k1", "k9"] { try fixture.store.put(id, ["v": .string("of \(id)")]) }
    // From here on the page is the last commit's, which nobody writes again.
    #expect(try fixture.store.fields("k1", in: "cars") == ["v": .string("of k1")])
    let entry = try [1] + DocumentID("k1").bytes
    #expect(try FileDamage.replace(entry + [2], by: entry + [3], at: fixture.dataPath) > 0)
    #expect(try fixture.store.fields("k1", in: "cars") == ["v": .string("of k1")])
    #expect(try fixture.store.verify().damages.isEmpty == false)
    #expect(try fixture.store.write { try $0.evict(DocumentID("k1"), in: "cars") }.0)
    #expect(try fixture.store.fields("k1", in: "cars") == nil)
    #expect(try fixture.store.fields("k9", in: "cars") == ["v": .string("of k9")])
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `every snapshot says where its own commit left the log`() throws {
    let fixture = try StoreFixture()
    #expect(try fixture.store.read { $0.sequence } == 0)
    var receipts: [CommitReceipt] = []
    for index in 0..<10 {
      receipts.append(try fixture.store.put("\(index)", [:]))
      // A transaction that writes nothing takes no number, so the next one has it.
      try fixture.store.write { _ in }
      let (sequence, commitID) = try fixture.store.read { ($0.sequence, $0.commitID) }
      expectEqual(sequence, receipts.last?.sequence)
      expectEqual(commitID, receipts.last?.id)
      if index == 4 { try fixture.store.compact() }
      if index == 7 { try fixture.reopen() }
      try expectEqual(fixture.store.read { $0.commitID }, commitID)
    }
    try fixture.store.read { old in
      _ = try fixture.store.write { try $0.evict(DocumentID("1"), in: "cars") }
      #expect(old.sequence == receipts.last?.sequence)
      #expect(try fixture.store.read { $0.evictionEpoch } == old.evictionEpoch + 1)
    }
  }

  @Test func `many documents are ordered as they stand, those that nobody remembers first`() throws {
    let fixture = try StoreFixture()
    for id in ["z", "a", "m"] { try fixture.store.put(id, [:]) }
    func order(_ ids: [String], in collection: String = "cars") throws -> [Int] {
      let ids = try ids.map { try DocumentID($0) }
      return try fixture.store.write { try $0.storedOrder(of: ids, in: collection) }.0
    }
    #expect(try order(["a", "other", "m", "z", "another"]) == [1, 4, 3, 0, 2])
    #expect(try order(["a", "z"], in: "boats") == [0, 1])
    #expect(try order([]) == [])
    // Places are told by 16 bits.
    let many = (0..<1 << 16).map { "\($0)" }
    #expect(try order(["a"] + many.dropLast()) == Array(1..<1 << 16) + [0])
    #expect(try order(["a"] + many) == Array(0...1 << 16))
    // Nothing is remembered of a store that was just opened.
    try fixture.reopen()
    #expect(try order(["m", "a", "z"]) == [0, 1, 2])
    #expect(try fixture.store.fields("a", in: "cars") == [:])
    // With the one that was asked for come those beside it.
    #expect(try order(["a", "m", "z"]) == [2, 0, 1])
  }
}
