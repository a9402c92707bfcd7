import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

@Suite struct FailureTests {
  private func fill(_ count: Int) -> [TextKey: Value] {
    ["data": .bytes((0..<count).map { UInt8(truncatingIfNeeded: $0) })]
  }

  @Test func `a full store refuses writes, keeps all it had, lets evict, and takes writes again`() throws {
    let fixture = try StoreFixture { $0.mapBytes = 1 << 20 }
    let store = fixture.store
    var stored: [String] = []
    var refusals = 0
    while refusals == 0 {
      let id = "\(stored.count)"
      switch code(of: { try store.put(id, fill(3_000)) }) {
      case nil: stored.append(id)
      case .full?: refusals += 1
      case let other?:
        Issue.record("unexpected error \(other)")
        return
      }
    }
    #expect(stored.count > 100)
    #expect(try store.count(in: "cars") == stored.count)
    for id in stored { try expectEqual(store.fields(id, in: "cars"), fill(3_000)) }
    // Everything, in one transaction, on the last pages.
    try store.write { tx in for id in stored.dropFirst(3) { try tx.evict(DocumentID(id), in: "cars") } }
    // The log has grown by an entry for each document.
    stored.removeLast(20)
    for id in stored.dropFirst(3) { try store.put(id, fill(3_000)) }
    try fixture.reopen()
    #expect(try fixture.store.count(in: "cars") == stored.count)
    let large = code {
      try fixture.store.write { tx in
        for n in 0..<400 { try tx.upsert(fill(3_000), id: DocumentID("x\(n)"), into: "cars") }
      }
    }
    #expect(large == .full)
    #expect(try fixture.store.count(in: "cars") == stored.count)
  }

  @Test func `a full disk at commit rolls back and the store goes on`() throws {
    let failing = Mutex(false)
    let fixture = try StoreFixture { $0.commitFault = { failing.withLock { $0 } ? ENOSPC : 0 } }
    let store = fixture.store
    try store.put("a", ["n": .int(1)])
    failing.withLock { $0 = true }
    #expect(code { try store.put("a", ["m": .int(2)], into: "boats") } == .full)
    #expect(code { try store.put("a", ["n": .int(2), "new": .int(1)]) } == .full)
    failing.withLock { $0 = false }
    #expect(try store.fields("a", in: "cars") == ["n": .int(1)])
    #expect(try store.read { $0.sequence } == 1)
    #expect(try store.put("a", ["new": .int(3)]).sequence == 2)
    try store.put("b", ["x": .int(4)], into: "ships")
    try store.put("b", ["m": .int(5)], into: "boats")
    try fixture.reopen()
    #expect(try fixture.store.fields("a", in: "cars") == ["n": .int(1), "new": .int(3)])
    #expect(try fixture.store.fields("b", in: "ships") == ["x": .int(4)])
    #expect(try fixture.store.fields("b", in: "boats") == ["m": .int(5)])
    #expect(try fixture.store.fields("a", in: "boats") == nil)
  }

  #if os(Linux)
    @Test func `a file that takes part of a write is full, and the store goes on when it may grow`() async {
      await #expect(processExitsWith: .success) {
        let fixture = try StoreFixture()
        let store = fixture.store
        signal(SIGXFSZ, SIG_IGN)
        func limit(_ bytes: Int?) {
          var limit = rlimit()
          getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
          limit.rlim_cur = bytes.map { rlim_t($0) } ?? limit.rlim_max
          setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        }
        func large(_ count: Int) -> [TextKey: Value] { ["data": .bytes(Array(repeating: 7, count: count))] }
        // Inside a page, so that the last write is cut short.
        limit(1 << 20 + 1_000)
        for n in 0..<100 { try store.put("\(n)", large(3_000)) }
        var count = 100
        // Writes of forty pages, the last of which would fit.
        while code(of: { try store.put("\(count)", large(160_000)) }) == nil { count += 1 }
        #expect(100...105 ~= count)
        var refusal: StoreError.Code?
        while refusal == nil, count < 400 {
          refusal = code { try store.put("\(count)", large(3_000)) }
          if refusal == nil { count += 1 }
        }
        #expect(refusal == .full)
        #expect(try store.count(in: "cars") == count)
        // What is refused has left room for evicting.
        try store.write { tx in for n in 0..<6 { _ = try tx.evict(DocumentID("\(n)"), in: "cars") } }
        limit(nil)
        try store.put("last", ["n": .int(1)])
        try fixture.reopen()
        #expect(try fixture.store.count(in: "cars") == count - 6 + 1)
      }
    }
  #endif

  @Test func `on a disk without room what is there is read, evicted and sent, and then written over`() throws
  {
    let isFull = Mutex(false)
    let fixture = try StoreFixture { $0.reserveFault = { isFull.withLock { $0 } ? ENOSPC : 0 } }
    let store = fixture.store
    for n in 0..<300 { try store.put("\(n)", fill(3_000)) }
    try fixture.reopen { isFull.withLock { $0 = true } }
    let full = fixture.store
    // Pages that the file has to spare are used first.
    var written = 0
    while code(of: { try full.put("x\(written)", fill(9_000)) }) == nil, written < 100 { written += 1 }
    #expect(written < 20)
    // A page that was kept for a look at the store in the background comes free when that is over.
    while code(of: { try full.put("y\(written)", ["n": .int(1)]) }) == nil, written < 1_000 { written += 1 }
    #expect(code { try full.put("y", ["n": .int(1)]) } == .full)
    #expect(code { try full.write { try $0.remove(DocumentID("0"), in: "cars") } } == .full)
    // What changes nothing is no write.
    #expect(try !full.write { try $0.evict(DocumentID("nobody"), in: "cars") }.0)
    #expect(try full.count(in: "cars") == 300 + written)
    for n in 0..<300 { try expectEqual(full.fields("\(n)", in: "cars"), fill(3_000)) }
    for start in stride(from: 0, to: 100, by: 10) {
      try full.write { tx in
        for n in start..<start + 10 { _ = try tx.evict(DocumentID("\(n)"), in: "cars") }
      }
    }
    // There is room in the file now, though there is none on the disk.
    for n in 0..<50 { try full.put("\(n)", fill(3_000)) }
    isFull.withLock { $0 = false }
    for n in 50..<200 { try full.put("z\(n)", fill(3_000)) }
    #expect(try full.verify().isIntact)
    try fixture.reopen()
    #expect(try fixture.store.count(in: "cars") == 300 + written - 50 + 150)
  }

  @Test func `a full disk is reported until there is room again, also when nobody writes`() throws {
    let isFull = Mutex(false)
    let fixture = try StoreFixture { $0.reserveFault = { isFull.withLock { $0 } ? ENOSPC : 0 } }
    for n in 0..<100 { try fixture.store.put("\(n)", fill(3_000)) }
    #expect(try fixture.store.statistics().shortage == nil)
    try fixture.reopen { isFull.withLock { $0 = true } }
    let store = fixture.store
    var written = 0
    while code(of: { try store.put("x\(written)", fill(9_000)) }) == nil, written < 1_000 { written += 1 }
    #expect(try store.statistics().shortage?.code == .full)
    // A write that is refused for another reason says nothing about room.
    #expect(code { try store.write { _ in throw StoreError(.limit, "no", operation: "test") } } == .limit)
    try store.write { _ in }
    #expect(try store.statistics().shortage?.code == .full)
    isFull.withLock { $0 = false }
    try store.write { _ in }
    #expect(try store.statistics().shortage == nil)
    try store.put("last", fill(9_000))
    // Evicting makes room in the file.
    isFull.withLock { $0 = true }
    try fixture.reopen()
    let again = fixture.store
    while code(of: { try again.put("y\(written)", fill(9_000)) }) == nil, written < 2_000 { written += 1 }
    #expect(try again.statistics().shortage?.code == .full)
    for start in stride(from: 0, to: 100, by: 10) {
      try again.write { tx in
        for n in start..<start + 10 { _ = try tx.evict(DocumentID("\(n)"), in: "cars") }
      }
    }
    try again.write { _ in }
    #expect(try again.statistics().shortage == nil)
    try again.put("end", fill(9_000))
  }

  @Test func `after a failed sync no write is acknowledged until the store is opened anew; reads go on`()
    async throws
  {
    let failing = Mutex(false)
    let fixture = try StoreFixture { $0.commitFault = { failing.withLock { $0 } ? EIO : 0 } }
    let store = fixture.store
    try store.put("a", ["n": .int(1)])
    let log = CommitLog()
    let listener = store.onCommit { log.append($0) }
    failing.withLock { $0 = true }
    #expect(code { try store.put("a", ["n": .int(2)]) } == .io)
    failing.withLock { $0 = false }
    #expect(code { try store.put("a", ["n": .int(3)]) } == .poisoned)
    #expect(await code { try await store.write { _ in } } == .poisoned)
    #expect(await code { try await store.transaction { _ in } } == .poisoned)
    #expect(try store.fields("a", in: "cars") == ["n": .int(1)])
    #expect(log.all.isEmpty)
    #expect(fixture.log.all.contains { $0.0 == .error })
    listener.cancel()
    try fixture.reopen()
    try fixture.store.put("a", ["n": .int(4)])
    #expect(try fixture.store.fields("a", in: "cars") == ["n": .int(4)])
  }

  @Test func `damage in a record is found on reading, names the document, and harms no other`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.put("good", ["text": .string("all is well with this one")])
    try store.put("bad", ["text": .string("a text that will be damaged")])
    try fixture.reopen {
      let count = try FileDamage.replace(
        Array("will be damaged".utf8), by: Array("will be dam\u{7}ged".utf8), at: fixture.dataPath)
      #expect(count > 0)
    }
    let damaged = fixture.store
    #expect(try damaged.fields("good", in: "cars") != nil)
    #expect(code { try damaged.fields("bad", in: "cars") } == .corrupt)
    let id = try DocumentID("bad")
    do {
      try damaged.write { try $0.update(id, in: "cars", [.set(["n"], .int(1))]) }
      Issue.record("the damage went unnoticed")
    } catch let error as StoreError {
      #expect(error.code == .corrupt)
      #expect(error.message.contains("cars"))
      #expect(error.message.contains(id.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()))
      #expect(!error.message.contains("text"))
    }
    func visit(verify: Bool) -> StoreError.Code? {
      code {
        try damaged.read { tx in
          try tx.forEachRecord(in: try #require(try tx.collection("cars")), verify: verify) { _, _, _ in true
          }
        }
      }
    }
    #expect(visit(verify: true) == .corrupt)
    // What was not looked at is not passed on, either.
    #expect(visit(verify: false) == .corrupt)
    #expect(try damaged.write { try $0.evict(id, in: "cars") }.0)
    #expect(visit(verify: true) == nil)
    #expect(try damaged.count(in: "cars") == 1)
    try damaged.put("bad", ["text": .string("fetched again")])
  }

  @Test func `damage in the store's own tables is found at open`() throws {
    let fixture = try StoreFixture()
    try fixture.store.put("a", ["colour": .string("red")])
    fixture.store.close()
    try FileDamage.replace(
      Array("\u{6}colour".utf8), by: Array("\u{6}cold ur".utf8.prefix(7)), at: fixture.dataPath)
    #expect(code { try Store.open(at: fixture.path) } == .corrupt)
  }

  @Test func `damage in what the engine says about its pages is found at open, not by a signal`() throws {
    let fixture = try StoreFixture()
    try fixture.store.write { tx in
      for n in 0..<300 { try tx.upsert(["n": .int(Int64(n))], id: DocumentID("\(n)"), into: "cars") }
    }
    fixture.store.close()
    let url = URL(fileURLWithPath: fixture.dataPath)
    let whole = try Data(contentsOf: url)
    let pageBytes = 4_096
    /// Opens the store with one byte changed.
    func open(flipping bit: UInt8, at offset: Int) throws -> StoreError.Code? {
      var data = whole
      data[offset] ^= bit
      let handle = try FileHandle(forWritingTo: url)
      try handle.write(contentsOf: data)
      try handle.close()
      return code { try Store.open(at: fixture.path).close() }
    }
    var damaged = 0
    for page in 2..<whole.count / pageBytes {
      let start = page * pageBytes
      let isTree = whole[start + 10] == 1 || whole[start + 10] == 2
      guard isTree, whole[start + 12] > 16 || whole[start + 13] > 0 else { continue }
      // The page number, its kind, the end of its list of entries, the offset of its first entry, the size of
      // the entry's key.
      let entry = start + Int(whole[start + 16]) + Int(whole[start + 17]) << 8
      let places: [(UInt8, Int)] = [
        (1, start), (4, start + 10), (64, start + 13), (2, start + 16), (128, entry + 7),
      ]
      let found = try places.map { try open(flipping: $0.0, at: $0.1) }
      // A page that is free may hold anything.
      if found.contains(where: { $0 != nil }) {
        damaged += 1
        expect(found.allSatisfy { $0 == .corrupt }, "page \(page)")
      }
    }
    #expect(damaged > 5)
    // The engine would read a list of free pages as long as it says it is, and write on pages as it says.
    let freeList = whole.number(at: whole.newestMeta * pageBytes + 80) * pageBytes
    let first = freeList + Int(whole[freeList + 16]) + Int(whole[freeList + 17]) << 8 + 16
    for (bit, offset) in [(1, first + 4), (64, first), (1, first + 15), (16, first + 8)] as [(UInt8, Int)] {
      try expectEqual(open(flipping: bit, at: offset), .corrupt, "byte \(offset - freeList) of the list")
    }
    // A meta page that loses its count of transactions would bring back the commit before the last.
    for page in 0..<2 { try expectEqual(open(flipping: 8, at: page * pageBytes + 144), .corrupt) }
    // Pages of no size, by which the engine would divide, and of another one.
    for page in 0..<2 {
      for bit in [16, 32] as [UInt8] {
        try expectEqual(open(flipping: bit, at: page * pageBytes + 41), .corrupt)
      }
    }
    // More pages than the file has, which would be made room for and looked at.
    for page in 0..<2 {
      for (bit, byte) in [(64, 143), (4, 140), (64, 139)] as [(UInt8, Int)] {
        try expectEqual(open(flipping: bit, at: page * pageBytes + byte), .corrupt, "byte \(byte)")
      }
    }
    #expect(try open(flipping: 0, at: 0) == nil)
  }

  @Test func `a file that lost its end gives an error and not a signal`() async {
    await #expect(processExitsWith: .success) {
      try TemporaryDirectory.with { directory in
        let store = try Store.open(at: directory.file("db"))
        let text = String(repeating: "x", count: 2_000)
        try store.write { tx in
          for n in 0..<500 { try tx.upsert(["text": .string(text)], id: DocumentID("\(n)"), into: "cars") }
        }
        store.close()
        let path = store.path + "/data.mdb"
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        truncate(path, off_t(size / 3))
        let found = code {
          let store = try Store.open(at: directory.file("db"))
          defer { store.close() }
          for n in 0..<500 where try store.fields("\(n)", in: "cars") == nil {
            throw StoreError(.corrupt, "a document is missing", operation: "test")
          }
        }
        guard found == .corrupt else { exit(1) }
      }
    }
  }
}

extension Data {
  fileprivate func number(at offset: Int) -> Int {
    (0..<8).reduce(0) { $0 | Int(self[offset + $1]) << (8 * $1) }
  }

  /// The one of the first two pages that the last commit wrote.
  fileprivate var newestMeta: Int { number(at: 144) > number(at: 4_096 + 144) ? 0 : 1 }
}
