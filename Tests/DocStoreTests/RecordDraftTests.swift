import CRDTCore
import DocStore
import TestKit
import Testing

@Suite struct RecordDraftTests {
  private static func fields(_ n: Int, _ key: String = "n") -> [TextKey: Value] {
    [TextKey(key): .int(Int64(n)), "text": .string("document \(n)"), "map": .map(["a": .bool(true)])]
  }

  /// Stores of which the first knows the names of the second.
  private static func pair() throws -> (here: StoreFixture, there: StoreFixture) {
    let (here, there) = (try StoreFixture(seed: 1), try StoreFixture(seed: 2))
    try there.store.put("first", fields(0))
    try merge("first", from: there.store, into: here.store)
    return (here, there)
  }

  /// A drafter that expectations can ask.
  private final class Drafts {
    private var drafter: RecordDrafter

    init(_ store: Store) { drafter = RecordDrafter(store) }

    func draft(_ wire: [UInt8], in collection: String = "cars") -> RecordDraft? {
      drafter.refresh()
      return drafter.draft(wire.span.bytes, in: collection)
    }
  }

  @discardableResult
  private static func merge(
    _ id: String, from other: Store, into store: Store, draft: RecordDraft? = nil
  ) throws -> MergeResult {
    let wire = try other.wire(id)
    return try store.write(origin: .remote(1)) {
      try $0.merge(wire: wire.span.bytes, id: DocumentID(id), in: "cars", draft: draft)
    }.0
  }

  @Test func `a document from a draft is the one that merging makes, and is counted as met`() throws {
    let (here, there) = try Self.pair()
    let (control, _) = try Self.pair()
    let drafts = Drafts(here.store)
    for n in 1...20 {
      try there.store.put("\(n)", Self.fields(n))
      let wire = try there.store.wire("\(n)")
      let made = drafts.draft(wire)
      let draft = try #require(made)
      try expectEqual(Self.merge("\(n)", from: there.store, into: here.store, draft: draft), .changed)
      try Self.merge("\(n)", from: there.store, into: control.store)
      try expectEqual(here.store.wire("\(n)"), wire)
    }
    #expect(
      try here.store.entries(of: "documents").map(\.value)
        == control.store.entries(of: "documents").map(\.value))
    let latest = try there.store.read { $0.latestReading }
    #expect(try here.store.read { try $0.highestReading(of: there.store.site) } == latest)
    #expect(try here.store.verify().damages == [])
  }

  @Test func `names that the store does not know are left to the writer, until it knows them`() throws {
    let (here, there) = try Self.pair()
    let drafts = Drafts(here.store)
    try there.store.put("known", Self.fields(1))
    try there.store.put("unknown", Self.fields(2, "another"))
    let (known, unknown) = (try there.store.wire("known"), try there.store.wire("unknown"))
    #expect(drafts.draft(known, in: "cars") != nil)
    #expect(drafts.draft(known, in: "boats") == nil)
    #expect(drafts.draft(unknown, in: "cars") == nil)
    // What comes after it would be made in vain, should it bring more such names.
    #expect(drafts.draft(known, in: "cars") == nil)
    try Self.merge("unknown", from: there.store, into: here.store)
    #expect(drafts.draft(known, in: "cars") != nil)
    #expect(drafts.draft(unknown, in: "cars") != nil)
    // A site that never wrote here.
    let stranger = try StoreFixture(seed: 3)
    try stranger.store.put("x", Self.fields(3))
    let wire = try stranger.store.wire("x")
    #expect(drafts.draft(wire, in: "cars") == nil)
  }

  @Test func `a draft of a document that is known by then is merged`() throws {
    let (here, there) = try Self.pair()
    let drafts = Drafts(here.store)
    try there.store.put("x", Self.fields(1))
    let wire = try there.store.wire("x")
    let made = drafts.draft(wire)
    let draft = try #require(made)
    try here.store.put("x", ["own": .int(7), "later": .string("name")])
    #expect(try Self.merge("x", from: there.store, into: here.store, draft: draft) == .changed)
    #expect(try here.store.fields("x", in: "cars")?["own"] == .int(7))
    #expect(try here.store.fields("x", in: "cars")?["n"] == .int(1))
    #expect(try Self.merge("x", from: there.store, into: here.store, draft: draft) == .unchanged)
    #expect(try here.store.verify().damages == [])
  }

  @Test func `what is not uniform, too large or no document has no draft`() throws {
    let (here, there) = try Self.pair()
    let drafts = Drafts(here.store)
    try there.store.put("x", Self.fields(1))
    try there.store.put("x", ["n": .int(2)])
    try there.store.put("large", ["text": .string(String(repeating: "l", count: 20_000))])
    for id in ["x", "large"] {
      let wire = try there.store.wire(id)
      expect(drafts.draft(wire, in: "cars") == nil)
    }
    try there.store.put("short", Self.fields(1))
    let wire = try there.store.wire("short")
    for length in 0..<wire.count {
      expect(drafts.draft(Array(wire[..<length]), in: "cars") == nil)
    }
  }
}
