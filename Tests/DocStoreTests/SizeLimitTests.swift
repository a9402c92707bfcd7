import CRDTCore
import DocStore
import Synchronization
import TestKit
import Testing

@Suite struct SizeLimitTests {
  private func text(_ count: Int) -> [TextKey: Value] {
    ["text": .string(String(repeating: "x", count: count))]
  }

  @Test func `warns once per document and size class, with what and how much`() throws {
    let fixture = try StoreFixture {
      $0.softDocumentBytes = 1_000
      $0.hardDocumentBytes = 3_000
    }
    let store = fixture.store
    try store.put("small", text(900))
    #expect(fixture.log.all.isEmpty)
    try store.put("a", text(1_500))
    try store.put("a", text(1_600))
    try store.put("b", text(1_500))
    #expect(fixture.log.all.map(\.0) == [.warning, .debug, .warning, .debug])
    #expect(fixture.log.texts[0].contains("cars"))
    // The id, which may name a person, is told at debug alone.
    let digest = try DocumentID("a").digest
    #expect(fixture.log.texts[0].contains(digest) && !fixture.log.texts[0].contains("'a'"))
    #expect(fixture.log.texts[1] == "\(digest) is the document 'a' of 'cars'")
    try store.put("a", text(4_000))
    try store.put("a", text(4_000))
    try store.put("a", text(1_500))
    #expect(fixture.log.all.filter { $0.0 == .warning }.count == 3)
    #expect(!fixture.log.texts.contains { $0.contains("xxx") })
  }

  @Test func `without logging the warning names the document`() throws {
    let lines = Mutex<[String]>([])
    let fixture = try StoreFixture {
      $0.softDocumentBytes = 1_000
      $0.hardDocumentBytes = 3_000
      $0.sizeWarning = { line in lines.withLock { $0.append(line) } }
    }
    try fixture.store.put("a\n", text(1_500))
    try fixture.store.put("a\n", text(1_500))
    try fixture.store.put("a\n", text(4_000))
    let found = lines.withLock { $0 }
    #expect(found.count == 2)
    #expect(found[0].hasPrefix(#"Warning: the document "a\n" of the collection "cars" takes 1"#))
    #expect(found[0].hasSuffix("more than the 1000 that sync well"))
    #expect(found[1].contains("more than the 3000 that are sent to peers which have nothing of it"))
    #expect(fixture.log.all.isEmpty)
  }

  @Test func `stores what is above the hard limit, and says so in receipt, commit and list`() throws {
    let fixture = try StoreFixture {
      $0.softDocumentBytes = 1_000
      $0.hardDocumentBytes = 3_000
    }
    let store = fixture.store
    let commits = CommitLog()
    let listener = store.onCommit { commits.append($0) }
    defer { listener.cancel() }
    let receipt = try store.write { tx in
      try tx.upsert(text(4_000), id: DocumentID("big"), into: "cars")
      try tx.upsert(text(10), id: DocumentID("small"), into: "cars")
      try tx.upsert(text(4_000), id: DocumentID("shrinks"), into: "cars")
      try tx.upsert(text(10), id: DocumentID("shrinks"), into: "cars")
    }.1
    #expect(try receipt.oversize.map(\.id) == [DocumentID("big")])
    #expect(receipt.oversize.allSatisfy { (4_000...4_200).contains($0.byteCount) })
    #expect(commits.all.last?.changes.map(\.oversize) == [true, false, false])
    #expect(try store.fields("big", in: "cars") == text(4_000))
    try fixture.reopen()
    #expect(try fixture.store.read { try $0.oversizeDocuments() } == receipt.oversize)
    let after = try fixture.store.put("big", text(10))
    #expect(after.oversize.isEmpty)
    #expect(try fixture.store.read { try $0.oversizeDocuments() }.isEmpty)
  }

  @Test(arguments: ["remove", "evict"])
  func `a document that goes leaves the list`(how: String) throws {
    let fixture = try StoreFixture { $0.hardDocumentBytes = 3_000 }
    let store = fixture.store
    try store.put("a", text(4_000))
    try store.put("b", text(4_000))
    try store.write { tx in
      let id = try DocumentID("a")
      if how == "evict" { try tx.evict(id, in: "cars") } else { try tx.remove(id, in: "cars") }
    }
    #expect(try store.read { try $0.oversizeDocuments() }.map(\.id) == [DocumentID("b")])
  }

  @Test func `a merge that makes a document grow is judged too`() throws {
    let (a, b) = (try StoreFixture(seed: 1), try StoreFixture(seed: 2) { $0.hardDocumentBytes = 3_000 })
    try a.store.put("a", ["one": .string(String(repeating: "x", count: 2_000))])
    try b.store.put("a", ["two": .string(String(repeating: "y", count: 2_000))])
    #expect(try b.store.read { try $0.oversizeDocuments() }.isEmpty)
    let wire = try a.store.wire("a")
    let (result, receipt) = try b.store.write(origin: .remote(1)) { tx in
      try tx.merge(wire: wire.span.bytes, id: DocumentID("a"), in: "cars")
    }
    #expect(result == .changed)
    #expect(receipt.oversize.count == 1)
    #expect(try b.store.fields("a", in: "cars")?.count == 2)
  }

  @Test func `limits may change while the store is open; size is that of the canonical form`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.put("a", text(10_000))
    let exact = try store.wire("a").count
    store.softDocumentBytes = 5_000
    store.hardDocumentBytes = exact
    #expect(try store.put("same", text(10_000)).oversize.isEmpty)
    store.hardDocumentBytes = exact - 1
    let receipt = try store.put("b", text(10_000))
    #expect(receipt.oversize.map(\.byteCount) == [exact])
  }

  @Test func `the limits that the guides state are the default`() throws {
    let fixture = try StoreFixture()
    #expect(fixture.store.softDocumentBytes == 250_000)
    #expect(fixture.store.hardDocumentBytes == 5_000_000)
    #expect(try fixture.store.put("at", text(249_000)).oversize.isEmpty)
    #expect(fixture.log.all.isEmpty)
    try fixture.store.put("soft", text(250_001))
    #expect(fixture.log.all.filter { $0.0 == .warning }.count == 1)
    #expect(try fixture.store.put("under", text(4_990_000)).oversize.isEmpty)
    #expect(try fixture.store.put("hard", text(5_000_001)).oversize.count == 1)
    #expect(try fixture.store.fields("hard", in: "cars") == text(5_000_001))
  }
}

extension Store {
  /// A document's canonical wire form.
  func wire(_ id: String) throws -> [UInt8] {
    try read { tx in
      guard let cars = try tx.collection("cars") else { return [] }
      let tables = RecordTables(keys: cars.keys, sites: tx.sites)
      return try tx.withRecord(cars, DocumentID(id)) { record, _ in
        var out = ByteWriter()
        try WireDocument.append(record, lacking: VersionVector(), tables: tables, to: &out)
        return out.bytes
      } ?? []
    }
  }
}
