import CRDTCore
import DocStore
import Synchronization
import TestKit
import Testing

@Suite struct JSONUpsertTests {
  private func text(_ number: Int, _ value: Int) -> [UInt8] {
    Array(#"{"_id":"d\#(number)","value":\#(value),"name":"the name of \#(number)"}"#.utf8)
  }

  private func write(_ store: Store, _ texts: [[UInt8]], _ strategy: WriteStrategy = .merge) throws {
    try store.write { tx in
      for text in texts { _ = try tx.upsert(json: text.span.bytes, into: "things", strategy: strategy) }
    }
  }

  @Test
  func `comes to what fields come to, for new documents and known ones, in the same transaction and later`()
    throws
  {
    let json = try StoreFixture(seed: 3)
    let fields = try StoreFixture(seed: 3)
    var random = SeededGenerator(seed: 5)
    for round in 0..<6 {
      let texts = (0..<40).map { _ in text(random.int(below: 60 + round * 40), random.int(below: 9)) }
      try write(json.store, texts)
      try fields.store.write { tx in
        for text in texts {
          guard case .map(let fields) = try JSON.parse(text) else { continue }
          try tx.upsert(fields, into: "things")
        }
      }
    }
    #expect(try json.store.contents("things") == fields.store.contents("things"))
    let counts = try json.store.read { try $0.collections().map(\.documentCount) }
    #expect(counts == [try json.store.contents("things").count])
  }

  @Test func `goes by the strategy`() throws {
    let fixture = try StoreFixture()
    try write(fixture.store, [text(1, 1), text(2, 1)])
    try write(fixture.store, [text(3, 1), text(1, 2)], .insertIfAbsent)
    #expect(try fixture.store.fields("d1", in: "things")?["value"] == .int(1))
    let before = try fixture.store.read { $0.sequence }
    try write(fixture.store, [text(1, 3), text(2, 3)], .insertIfAbsent)
    #expect(try fixture.store.read { $0.sequence } == before)
    try write(fixture.store, [text(4, 1), text(1, 4)], .insertDefaultIfAbsent)
    #expect(try fixture.store.fields("d1", in: "things")?["value"] == .int(1))
    try write(fixture.store, [text(4, 5)])
    #expect(try fixture.store.fields("d4", in: "things")?["value"] == .int(5))
  }

  @Test func `a mistake in the text writes nothing and says where it is`() throws {
    let fixture = try StoreFixture()
    try write(fixture.store, [text(1, 1)])
    for bad in [#"{"_id":"x","value":}"#, #"["_id"]"#, #"{"_id":"x","value":1,"value":2}"#] {
      #expect(throws: JSONError.self) { try write(fixture.store, [text(2, 1), Array(bad.utf8)]) }
    }
    #expect(throws: StoreError.self) { try write(fixture.store, [Array(#"{"_id":1.5}"#.utf8)]) }
    #expect(try fixture.store.contents("things").count == 1)
  }

  @Test func `removing and upserting one document do not go together`() throws {
    let fixture = try StoreFixture()
    try write(fixture.store, [text(1, 1)])
    let error = #expect(throws: StoreError.self) {
      try fixture.store.write { tx in
        _ = try tx.upsert(json: text(2, 1).span.bytes, into: "things")
        _ = try tx.remove(DocumentID("d1"), in: "things")
        _ = try tx.upsert(json: text(1, 2).span.bytes, into: "things")
      }
    }
    #expect(error?.code == .removedInTransaction)
  }

  @Test func `a listener gets the record before and after`() throws {
    let fixture = try StoreFixture()
    try write(fixture.store, [text(1, 1)])
    let commits = Mutex<[Commit]>([])
    let listener = fixture.store.onCommit { commit in commits.withLock { $0.append(commit) } }
    try write(fixture.store, [text(2, 1), text(1, 2)])
    listener.cancel()
    let changes = try #require(commits.withLock { $0 }.first?.changes)
    #expect(changes.map { $0.before == nil } == [true, false])
    #expect(changes.allSatisfy { $0.after != nil && $0.afterSummary != nil })
  }

  @Test func `a transaction of many documents knows each of them again`() throws {
    let fixture = try StoreFixture()
    try write(fixture.store, (0..<3_000).map { text($0 % 2_000, $0) })
    #expect(try fixture.store.contents("things").count == 2_000)
    #expect(try fixture.store.fields("d999", in: "things")?["value"] == .int(2_999))
    #expect(try fixture.store.fields("d1000", in: "things")?["value"] == .int(1_000))
  }
}

extension Store {
  /// The fields of all documents by id, whose checksums hold.
  fileprivate func contents(_ collection: String) throws -> [DocumentID: [TextKey: Value]] {
    try read { tx in
      guard let collection = try tx.collection(collection) else { return [:] }
      var found: [DocumentID: [TextKey: Value]] = [:]
      try tx.forEachRecord(in: collection, verify: true) { id, _, record in
        found[try DocumentID(validating: id)] = try record.fields(collection.keys)
        return true
      }
      return found
    }
  }
}
