import CRDTCore
import DocStore
import Foundation
import Synchronization
import SyncProtocol
import TestKit
import Testing

/// What sync keeps in the store beside the documents.
@Suite struct SyncTableTests {
  private let peer = SiteID(high: 1, low: 2)

  @Test func `a cursor is kept with the data of its transaction, or not at all, and is no commit`() throws {
    struct Interruption: Error {}
    let fixture = try TableFixture()
    let commits = Mutex(0)
    let listener = fixture.store.onCommit { _ in commits.withLock { $0 += 1 } }
    defer { listener.cancel() }
    #expect(try fixture.store.read { try $0.checkpoint(of: peer) } == nil)
    let receipt = try fixture.store.write { tx in try tx.setCheckpoint([1, 2, 3], of: peer) }.1
    #expect(receipt.sequence == 0)
    #expect(commits.withLock { $0 } == 0)
    try fixture.reopen()
    #expect(try fixture.store.read { try $0.checkpoint(of: peer) } == [1, 2, 3])
    #expect(
      throws: Interruption.self,
      performing: {
        try fixture.store.write { tx in
          try tx.upsert([:], id: DocumentID("a"), into: "cars")
          try tx.setCheckpoint([4], of: peer)
          throw Interruption()
        }
      })
    #expect(try fixture.store.read { try $0.checkpoint(of: peer) } == [1, 2, 3])
    try fixture.store.write { tx in
      try tx.upsert([:], id: DocumentID("a"), into: "cars")
      try tx.setCheckpoint([], of: peer)
    }
    #expect(try fixture.store.read { try $0.checkpoint(of: peer) } == [])
    #expect(try fixture.store.read { $0.sequence } == 1)
    try fixture.store.write { tx in try tx.removeCheckpoint(of: peer) }
    #expect(try fixture.store.read { try $0.checkpoint(of: peer) } == nil)
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `the cursor that was not written for longest gives way`() throws {
    let fixture = try TableFixture()
    let store = fixture.store
    for n in 0..<1_024 {
      try store.write { tx in try tx.setCheckpoint([UInt8(n & 255)], of: SiteID(high: UInt64(n), low: 1)) }
    }
    fixture.pass(days: 1)
    for n in 0..<1_024 where n != 700 {
      try store.write { tx in try tx.setCheckpoint([1], of: SiteID(high: UInt64(n), low: 1)) }
    }
    try store.write { tx in try tx.setCheckpoint([9], of: peer) }
    try store.read { tx in
      let gone = try tx.checkpoint(of: SiteID(high: 700, low: 1))
      #expect(gone == nil)
      for n in 0..<1_024 where n != 700 {
        let kept = try tx.checkpoint(of: SiteID(high: UInt64(n), low: 1))
        expectEqual(kept, [1])
      }
      let new = try tx.checkpoint(of: peer)
      #expect(new == [9])
    }
  }

  @Test func `a damaged cursor counts as none, and so does a damaged note; a damaged part is told of`()
    throws
  {
    let fixture = try TableFixture()
    let id = StagingID(high: 1, low: 7)
    try fixture.store.write { tx in
      try tx.upsert([:], id: DocumentID("a"), into: "cars")
      try tx.setCheckpoint(Array("a cursor".utf8), of: peer)
      _ = try tx.setLeavingNote(Array("a note".utf8), for: DocumentID("a"), in: "cars")
      _ = try tx.setLeavingNote([1], for: DocumentID("b"), in: "cars")
      _ = try tx.stage(Array("a part".utf8), as: 0, of: id)
    }
    try fixture.reopen {
      for text in ["a cursor", "a note", "a part"] {
        try fixture.replace(text, by: text.uppercased())
      }
    }
    let cars = try #require(try fixture.store.read { try $0.collection("cars") })
    try fixture.store.read { tx in
      let checkpoint = try tx.checkpoint(of: peer)
      #expect(checkpoint == nil)
      let note = try tx.leavingNote(for: DocumentID("a"), in: cars)
      #expect(note == nil)
      var notes: [DocumentID] = []
      try tx.forEachLeavingNote { note in
        notes.append(note.id)
        return true
      }
      #expect(notes == [try DocumentID("b")])
      let error = #expect(throws: StoreError.self) { try tx.forEachStaged(of: id) { _, _ in true } }
      #expect(error?.code == .corrupt)
      #expect(error?.message.contains("staging") == true)
    }
    let report = try fixture.store.verify()
    #expect(report.damages.map(\.kind) == [.entry, .entry, .entry])
    for table in ["cursors", "staging", "leaving"] {
      expect(report.damages.contains { $0.message.contains("the table \(table) ") }, "\(table)")
    }
  }

  @Test func `what is put aside takes at most a tenth of what is free on the disk`() throws {
    let free = Mutex(100 << 20)
    let fixture = try TableFixture { $0.freeDiskBytes = { free.withLock { $0 } } }
    let id = StagingID(high: 1, low: 7)
    let chunk = [UInt8](repeating: 1, count: WriteTransaction.stagedChunkBytes)
    func stage(_ chunks: Range<UInt32>) throws -> Int {
      try fixture.store.write { tx in try chunks.prefix { try tx.stage(chunk, as: $0, of: id) }.count }.0
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
    let fixture = try TableFixture { $0.workingBytes = 1 << 20 }
    let store = fixture.store
    let (a, b) = (StagingID(high: 1, low: 7), StagingID(high: 1, low: 8))
    func chunks(_ id: StagingID) throws -> [UInt32: Int] {
      try store.read { tx in
        var found: [UInt32: Int] = [:]
        var last: UInt32?
        try tx.forEachStaged(of: id) { chunk, bytes in
          #expect(last.map { $0 < chunk } ?? true)
          last = chunk
          found[chunk] = bytes.count
          return true
        }
        return found
      }
    }
    try store.write { tx in
      for chunk in [2, 0, 1] as [UInt32] {
        let isKept = try tx.stage([UInt8](repeating: 1, count: Int(chunk) * 100), as: chunk, of: a)
        expect(isKept)
      }
      let isKept = try tx.stage([5], as: 3, of: b)
      #expect(isKept)
    }
    #expect(try chunks(a) == [0: 0, 1: 100, 2: 200])
    #expect(try chunks(b) == [3: 1])
    #expect(try store.read { try $0.stagedIDs() } == [a, b])
    #expect(try store.read { $0.sequence } == 0)
    try store.write { tx in
      var count = 0
      try tx.forEachStaged(of: a) { _, _ in
        count += 1
        return true
      }
      #expect(count == 3)
      try tx.unstage(a, chunks: 1...1)
      #expect(try tx.stagedChunks(of: a) == [0, 2])
      try tx.unstage(a)
    }
    #expect(try chunks(a) == [:])
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
    #expect(try chunks(b) == [3: 1])
    #expect(try store.verify().damages == [])
  }

  @Test func `what no part came of for a day is forgotten`() throws {
    let fixture = try TableFixture()
    let store = fixture.store
    let (a, b) = (StagingID(high: 1, low: 7), StagingID(high: 1, low: 8))
    try store.write { tx in for id in [a, b] { _ = try tx.stage([1], as: 0, of: id) } }
    fixture.pass(days: 1)
    try store.write { tx in _ = try tx.stage([2], as: 1, of: b) }
    fixture.pass(days: 1)
    try store.collect()
    #expect(try store.read { try $0.stagedIDs() } == [b])
    fixture.pass(days: 1)
    try store.write { _ = try $0.upsert([:], id: DocumentID("a"), into: "cars") }
    fixture.pass(days: 1)
    try store.collect()
    #expect(try store.read { try $0.stagedIDs() } == [])
  }

  @Test func `a store that has nothing but parts goes by time, and one whose sync has ended keeps them`()
    throws
  {
    let fixture = try TableFixture()
    let id = StagingID(high: 1, low: 7)
    try fixture.store.write { tx in _ = try tx.stage([1], as: 0, of: id) }
    fixture.endSync()
    for _ in 0..<3 {
      fixture.pass(days: 1)
      try fixture.store.collect()
    }
    #expect(try fixture.store.read { try $0.stagedIDs() } == [id])
    fixture.beginSync()
    // A collection that has nothing else to do stores the time all the same, and of a stretch a day counts.
    for _ in 0..<2 {
      try expectEqual(fixture.store.read { try $0.stagedIDs() }, [id])
      fixture.pass(days: 1)
      try fixture.store.collect()
    }
    #expect(try fixture.store.read { try $0.stagedIDs() } == [])
  }

  @Test func `notes on documents that leave are kept until their time`() throws {
    let fixture = try TableFixture()
    let store = fixture.store
    let isKept = try store.write { tx in
      try tx.upsert([:], id: DocumentID("a"), into: "cars")
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
    try store.write { try $0.removeLeavingNote(for: DocumentID("b"), in: "cars") }
    try fixture.store.verify().damages.forEach { Issue.record("\($0)") }
    #expect(try notes() == [a: [1, 2]])
    for _ in 0..<8 {
      fixture.pass(days: 1)
      try store.collect()
    }
    #expect(try notes() == [:])
  }

  @Test func `too many notes make the older half be forgotten`() throws {
    let fixture = try TableFixture()
    let store = fixture.store
    let limit = 65_536
    try store.write { _ = try $0.upsert([:], id: DocumentID("a"), into: "cars") }
    for half in 0..<2 {
      try store.write { tx in
        for index in 0..<limit / 2 {
          _ = try tx.setLeavingNote([UInt8(half)], for: DocumentID("\(half) \(index)"), in: "cars")
        }
      }
      fixture.pass(days: 1)
    }
    // One that is there needs no room.
    #expect(try store.write { try $0.setLeavingNote([1], for: DocumentID("1 0"), in: "cars") }.0)
    #expect(try store.read { try $0.sideEntryCount(.leaving) } == limit)
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
}

/// A store whose time moves only when told, and that sync uses.
private final class TableFixture {
  private let directory: TemporaryDirectory
  private let clock = ManualClock()
  private let options: StoreOptions
  private var shared = SessionShared()
  private(set) var store: Store

  init(_ adjust: (inout StoreOptions) -> Void = { _ in }) throws {
    directory = try TemporaryDirectory()
    let clock = clock
    var options = StoreOptions(mapBytes: 1 << 30, now: { clock.milliseconds }, log: { _, _ in })
    options.collectionInterval = nil
    adjust(&options)
    self.options = options
    store = try Store.open(at: directory.file("store"), options: options)
    beginSync()
  }

  deinit { store.close() }

  func pass(days: UInt64) { clock.advance(by: days * 86_400_000) }

  func beginSync() { shared.attach(to: store) }

  func endSync() { shared = SessionShared() }

  /// Closes the store, lets `meddle` have its files, and opens it again.
  func reopen(_ meddle: () throws -> Void = {}) throws {
    store.close()
    try meddle()
    store = try Store.open(at: directory.file("store"), options: options)
    beginSync()
  }

  /// Replaces a text in the closed store's file by another one of the same length.
  func replace(_ old: String, by new: String) throws {
    let url = URL(fileURLWithPath: directory.file("store") + "/data.mdb")
    var data = try Data(contentsOf: url)
    var start = data.startIndex
    while let range = data.range(of: Data(old.utf8), in: start..<data.endIndex) {
      data.replaceSubrange(range, with: Data(new.utf8))
      start = range.upperBound
    }
    let handle = try FileHandle(forWritingTo: url)
    try handle.write(contentsOf: data)
    try handle.close()
  }
}
