import CRDTCore
import DocStore
import TestKit
import Testing

/// Bad values and misuse through the store: a clear error, and everything as it was.
@Suite struct MisuseTests {
  private static func nested(_ levels: Int) -> Value {
    var value = Value.int(1)
    for _ in 0..<levels { value = .map(["k": value]) }
    return value
  }

  /// Built in the test: a value that nests 10,000 deep is none to be printed.
  private static func refusedFields(_ number: Int) -> [TextKey: Value] {
    switch number {
    case 0: ["v": .map(["k": nested(64)])]
    case 1: ["v": nested(10_000)]
    case 2: ["v": .array([.counter(1)])]
    case 3: [TextKey(String(repeating: "k", count: 65_536)): .int(1)]
    case 4: ["_id": .null]
    case 5: ["_id": .double(.nan)]
    case 6: ["_id": .string(String(repeating: "i", count: 1 << 20))]
    default: ["_id": nested(10_000)]
    }
  }

  private static func refusedEdit(_ number: Int) -> Edit {
    switch number {
    case 0: .set(["_id"], .int(1))
    case 1: .remove(["_id"])
    case 2: .increment(["text"], 1)
    case 3: .set([], .int(1))
    case 4: .set(["v"], nested(10_000))
    case 5: .set(Array(repeating: "k", count: 10_000), .int(1))
    case 6: .set(["v"], .array([.counter(1)]))
    default: .set([TextKey(String(repeating: "k", count: 65_536))], .int(1))
    }
  }

  @Test(arguments: 0..<8)
  func `a document that cannot be is refused, and its transaction changes nothing`(number: Int) throws {
    let fields = Self.refusedFields(number)
    let fixture = try StoreFixture()
    try fixture.store.put("a", ["x": .int(1)])
    let refused = code {
      try fixture.store.write { tx in
        try tx.upsert(["x": .int(2)], id: DocumentID("a"), into: "cars")
        try tx.upsert(fields, into: "cars")
      }
    }
    #expect(refused == .document)
    #expect(try fixture.store.fields("a", in: "cars") == ["x": .int(1)])
    #expect(try fixture.store.count(in: "cars") == 1)
  }

  @Test func `a refused document can be passed over, and the rest of the transaction lasts`() throws {
    let fixture = try StoreFixture()
    try fixture.store.write { tx in
      #expect(code { try tx.upsert(["v": .array([.counter(1)])], into: "cars") } == .document)
      try tx.upsert(["x": .int(1)], id: DocumentID("a"), into: "cars")
    }
    #expect(try fixture.store.fields("a", in: "cars") == ["x": .int(1)])
    #expect(try fixture.store.count(in: "cars") == 1)
  }

  @Test func `odd values are kept over a reopening`() throws {
    let fixture = try StoreFixture()
    let fields: [TextKey: Value] = [
      "nan": .double(.nan), "inf": .double(-.infinity), "big": .double(1e300), "max": .int(.max),
      "min": .int(.min), "": .string("\0"), "zero": .double(-0.0), "empty": .map([:]),
    ]
    try fixture.store.put("a", fields)
    try fixture.reopen()
    #expect(try fixture.store.fields("a", in: "cars") == fields)
  }

  @Test(arguments: 0..<8)
  func `an edit that cannot be is refused with all edits of its call`(number: Int) throws {
    let edit = Self.refusedEdit(number)
    let fixture = try StoreFixture()
    try fixture.store.put("a", ["text": .string("x")])
    let refused = code {
      try fixture.store.write { try $0.update(DocumentID("a"), in: "cars", [.set(["y"], .int(1)), edit]) }
    }
    #expect(refused == .document)
    #expect(try fixture.store.fields("a", in: "cars") == ["text": .string("x")])
  }

  @Test func `an id among the fields gives way to the one that is named`() throws {
    let fixture = try StoreFixture()
    try fixture.store.put("a", ["_id": .string("b"), "x": .int(1)])
    #expect(try fixture.store.fields("a", in: "cars") == ["x": .int(1)])
    #expect(try fixture.store.fields("b", in: "cars") == nil)
  }

  /// The wire form of a document that another store writes at `now`.
  private func wire(at now: UInt64) throws -> [UInt8] {
    let other = try StoreFixture(seed: 99) { $0.now = { now } }
    try other.store.put("a", ["x": .string("future")])
    return try other.store.wire("a")
  }

  @Test func `a document from beyond a hundred years is not taken in, one from 2099 is and stays writable`()
    throws
  {
    let fixture = try StoreFixture()
    let id = try DocumentID("a")
    let late = try wire(at: 1_800_000_000_000 + HybridClock.maximumDocumentLead + 1)
    let result = try fixture.store.write { try $0.merge(wire: late.span.bytes, id: id, in: "cars") }.0
    #expect(result == .unchanged)
    #expect(try fixture.store.fields("a", in: "cars") == nil)
    #expect(fixture.log.all.map(\.0) == [.error])
    let future = try wire(at: 4_070_908_800_000)
    _ = try fixture.store.write { try $0.merge(wire: future.span.bytes, id: id, in: "cars") }
    try fixture.store.put("a", ["x": .string("now")])
    #expect(try fixture.store.fields("a", in: "cars") == ["x": .string("now")])
  }

  @Test func `a successor of a state is held to the same bounds of time, and moves the clock`() throws {
    let fixture = try StoreFixture()
    let id = try DocumentID("a")
    try fixture.store.put("a", ["x": .string("here")])
    let wire = try fixture.store.wire("a")
    var replica = Replica(site: SiteID(high: 77, low: 7))
    func merge(writtenAt now: UInt64) throws -> MergeResult {
      var document = ReplicatedDocument()
      try replica.merge(wire, into: &document, now: 0)
      let former = document
      try replica.update([.set(["x"], .string("there"))], of: &document, now: now)
      let operationDelta = try replica.delta(of: document, after: former)
      let isShort = WireDocument.isOperationDelta(operationDelta.span.bytes)
      expect(isShort)
      return try fixture.store.write { try $0.merge(wire: operationDelta.span.bytes, id: id, in: "cars") }.0
    }
    #expect(try merge(writtenAt: 1_800_000_060_000) == .changed)
    #expect(try fixture.store.fields("a", in: "cars") == ["x": .string("there")])
    try fixture.store.put("b", ["x": .null])
    let later = try fixture.store.read { transaction in
      let collection = try #require(try transaction.collection("cars"))
      return try transaction.withRecord(collection, try DocumentID("b")) { record, _ in
        try record.vector(sites: transaction.sites).latest
      }
    }
    #expect(try #require(later) >= ClockReading(milliseconds: 1_800_000_060_000))
    // Of another state it is not known what is lacking.
    #expect(try merge(writtenAt: 1_800_000_070_000) == .missingBase)
    let other = try StoreFixture(seed: 5)
    _ = try other.store.write { try $0.merge(wire: wire.span.bytes, id: id, in: "cars") }
    var ahead = Replica(site: SiteID(high: 78, low: 7))
    var document = ReplicatedDocument()
    try ahead.merge(wire, into: &document, now: 0)
    let before = document
    try ahead.update(
      [.set(["x"], .null)], of: &document, now: 1_800_000_000_000 + HybridClock.maximumDocumentLead + 1)
    let operationDelta = try ahead.delta(of: document, after: before)
    let result = try other.store.write { try $0.merge(wire: operationDelta.span.bytes, id: id, in: "cars") }.0
    #expect(result == .unchanged)
    #expect(try other.store.fields("a", in: "cars") == ["x": .string("here")])
  }
}
