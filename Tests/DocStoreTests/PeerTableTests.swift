import CRDTCore
import DocStore
import TestKit
import Synchronization
import Testing

/// What sync keeps in the store beside the documents.
@Suite struct PeerTableTests {
  private let peer = SiteID(high: 1, low: 2)

  @Test func `a cursor is kept with the data of its transaction, or not at all, and is no commit`() throws {
    let fixture = try StoreFixture()
    let log = CommitLog()
    let listener = fixture.store.onCommit { log.append($0) }
    defer { listener.cancel() }
    #expect(try fixture.store.read { try $0.cursor(of: peer) } == nil)
    let receipt = try fixture.store.write { tx in try tx.setCursor([1, 2, 3], of: peer) }.1
    #expect(receipt.sequence == 0)
    #expect(log.all.isEmpty)
    try fixture.reopen()
    #expect(try fixture.store.read { try $0.cursor(of: peer) } == [1, 2, 3])
    #expect(
      throws: Interruption.self,
      performing: {
        try fixture.store.write { tx in
          try tx.upsert([:], id: DocumentID("a"), into: "cars")
          try tx.setCursor([4], of: peer)
          throw Interruption()
        }
      })
    #expect(try fixture.store.read { try $0.cursor(of: peer) } == [1, 2, 3])
    try fixture.store.write { tx in
      try tx.upsert([:], id: DocumentID("a"), into: "cars")
      try tx.setCursor([], of: peer)
    }
    #expect(try fixture.store.read { try $0.cursor(of: peer) } == [])
    #expect(try fixture.store.read { $0.sequence } == 1)
    try fixture.store.write { tx in try tx.removeCursor(of: peer) }
    #expect(try fixture.store.read { try $0.cursor(of: peer) } == nil)
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `the cursor that was not written for longest gives way`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    let store = fixture.store
    for n in 0..<1_024 {
      try store.write { tx in try tx.setCursor([UInt8(n & 255)], of: SiteID(high: UInt64(n), low: 1)) }
    }
    clock.advance(days: 1)
    for n in 0..<1_024 where n != 700 {
      try store.write { tx in try tx.setCursor([1], of: SiteID(high: UInt64(n), low: 1)) }
    }
    try store.write { tx in try tx.setCursor([9], of: peer) }
    try store.read { tx in
      let gone = try tx.cursor(of: SiteID(high: 700, low: 1))
      #expect(gone == nil)
      for n in 0..<1_024 where n != 700 {
        let kept = try tx.cursor(of: SiteID(high: UInt64(n), low: 1))
        #expect(kept == [1])
      }
      let new = try tx.cursor(of: peer)
      #expect(new == [9])
    }
  }

  @Test func `what is put aside takes at most a tenth of what is free on the disk`() throws {
    let free = Mutex(100 << 20)
    let fixture = try StoreFixture { $0.freeDiskBytes = { free.withLock { $0 } } }
    let id = StagingID(high: 1, low: 7)
    let part = [UInt8](repeating: 1, count: WriteTransaction.stagedPartBytes)
    func stage(_ parts: Range<UInt32>) throws -> Int {
      try fixture.store.write { tx in try parts.prefix { try tx.stage(part, as: $0, of: id) }.count }.0
    }
    #expect(try stage(0..<100) == 100)
    // Of 20 MB, with the 7 that are there, that is less than there is.
    free.withLock { $0 = 20 << 20 }
    #expect(try stage(100..<200) == 0)
    free.withLock { $0 = 100 << 20 }
    let more = try stage(100..<400)
    #expect(more > 20 && more < 80, "\(more)")
  }

  @Test func `parts that are put aside are seen by nobody, stand in their order, and go together`() throws {
    let fixture = try StoreFixture { $0.stagedBytes = 1 << 20 }
    let store = fixture.store
    let (a, b) = (StagingID(high: 1, low: 7), StagingID(high: 1, low: 8))
    func parts(_ id: StagingID) throws -> [UInt32: Int] {
      try store.read { tx in
        var found: [UInt32: Int] = [:]
        var last: UInt32?
        try tx.forEachStaged(of: id) { part, bytes in
          #expect(last.map { $0 < part } ?? true)
          last = part
          found[part] = bytes.count
          return true
        }
        return found
      }
    }
    try store.write { tx in
      for part in [2, 0, 1] as [UInt32] {
        let isKept = try tx.stage([UInt8](repeating: 1, count: Int(part) * 100), as: part, of: a)
        #expect(isKept)
      }
      let isKept = try tx.stage([5], as: 3, of: b)
      #expect(isKept)
    }
    #expect(try parts(a) == [0: 0, 1: 100, 2: 200])
    #expect(try parts(b) == [3: 1])
    #expect(try store.read { try $0.stagedIDs() } == [a, b])
    #expect(try store.read { $0.sequence } == 0)
    try store.write { tx in
      var count = 0
      try tx.forEachStaged(of: a) { _, _ in
        count += 1
        return true
      }
      #expect(count == 3)
      try tx.unstage(a)
    }
    #expect(try parts(a) == [:])
    // There is room for about a megabyte.
    var kept = 0
    while kept < 100,
      try store.write({
        try $0.stage([UInt8](repeating: 0, count: 60_000), as: 0, of: StagingID(high: 9, low: UInt64(kept)))
      }).0
    {
      kept += 1
    }
    #expect((10..<18).contains(kept))
    #expect(try parts(b) == [3: 1])
    #expect(try store.verify().damages == [])
  }

  @Test func `what no part came of for a day is forgotten`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    let store = fixture.store
    let (a, b) = (StagingID(high: 1, low: 7), StagingID(high: 1, low: 8))
    try store.write { tx in for id in [a, b] { _ = try tx.stage([1], as: 0, of: id) } }
    clock.advance(days: 1)
    try store.write { tx in _ = try tx.stage([2], as: 1, of: b) }
    clock.advance(days: 1)
    try store.collect()
    #expect(try store.read { try $0.stagedIDs() } == [b])
    clock.advance(days: 1)
    try store.write { _ = try $0.upsert([:], id: DocumentID("a"), into: "cars") }
    clock.advance(days: 1)
    try store.collect()
    #expect(try store.read { try $0.stagedIDs() } == [])
  }

  @Test func `notes on documents that leave are kept until their time`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    let store = fixture.store
    try store.put("a", [:])
    let isKept = try store.write { tx in
      let isRefused = try !tx.setLeavingNote([1], for: DocumentID("a"), in: "unknown")
      let isKept = try tx.setLeavingNote([1, 2], for: DocumentID("a"), in: "cars")
      return try isRefused && isKept && tx.setLeavingNote([], for: DocumentID("b"), in: "cars")
    }.0
    #expect(isKept)
    func notes() throws -> [String: [UInt8]] {
      try store.read { tx in
        var found: [String: [UInt8]] = [:]
        try tx.forEachLeavingNote { note in
          found["\(note.collection.name) \(note.id.value)"] = note.bytes
          return true
        }
        return found
      }
    }
    let (a, b) = ("cars \(try DocumentID("a").value)", "cars \(try DocumentID("b").value)")
    #expect(try notes() == [a: [1, 2], b: []])
    let cars = try store.read { try $0.collection("cars") }
    #expect(try store.read { try $0.leavingNote(for: DocumentID("a"), in: try #require(cars)) } == [1, 2])
    #expect(try store.write { try $0.removeLeavingNote(for: DocumentID("b"), in: "cars") }.0)
    try fixture.store.verify().damages.forEach { Issue.record("\($0)") }
    #expect(try notes() == [a: [1, 2]])
    try clock.pass(days: 8, store)
    #expect(try notes() == [:])
  }

  @Test func `too many notes make the older half be forgotten`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    let store = fixture.store
    let limit = 65_536
    try store.put("a", [:])
    for half in 0..<2 {
      try store.write { tx in
        for index in 0..<limit / 2 {
          _ = try tx.setLeavingNote([UInt8(half)], for: DocumentID("\(half) \(index)"), in: "cars")
        }
      }
      clock.advance(days: 1)
    }
    #expect(try store.write { try $0.setLeavingNote([2], for: DocumentID("b"), in: "cars") }.0)
    var counts = [0, 0, 0]
    try store.read { tx in
      try tx.forEachLeavingNote { note in
        counts[Int(note.bytes[0])] += 1
        return true
      }
    }
    #expect(counts == [0, limit / 2, 1])
  }

  @Test func `who has the last word in a transaction sees its changes and adds to it, or undoes it`() throws {
    struct Veto: Error {}
    let fixture = try StoreFixture()
    let store = fixture.store
    let listener = store.atEndOfTransactions { tx in
      for change in tx.pendingChanges where change.collection.name == "cars" {
        guard change.id != (try DocumentID("no")) else { throw Veto() }
        let kind: UInt8 = change.after == nil ? 2 : change.before == nil ? 0 : 1
        _ = try tx.setLeavingNote([kind], for: change.id, in: "cars")
      }
    }
    func note(_ id: String) throws -> [UInt8]? {
      try store.read { tx -> [UInt8]? in
        guard let cars = try tx.collection("cars") else { return nil }
        return try tx.leavingNote(for: DocumentID(id), in: cars)
      }
    }
    try store.put("a", [:])
    #expect(try note("a") == [0])
    try store.put("a", ["n": .int(1)])
    #expect(try note("a") == [1])
    #expect(throws: Veto.self) { try store.put("no", [:]) }
    #expect(try store.count(in: "cars") == 1)
    try store.write { _ = try $0.evict(DocumentID("a"), in: "cars") }
    #expect(try note("a") == [2])
    listener.cancel()
    try store.put("no", [:])
    #expect(try note("no") == nil)
  }
}
