import CRDTCore
import CRDTModel
import TestKit
import Testing

/// What `Documentation/Values.md` promises of values and writes that nobody should make.
@Suite struct MisuseTests {
  private func code(_ body: () throws -> Void) -> DocumentError.Code? {
    do { try body() } catch { return (error as? DocumentError)?.code }
    return nil
  }

  private static func nested(_ levels: Int, inArray: Bool = false) -> Value {
    var value = Value.int(1)
    for _ in 0..<levels { value = inArray ? .array([value]) : .map(["k": value]) }
    return value
  }

  @Test(arguments: [
    Value.double(.nan), .double(Double(nan: 7, signaling: false)), .double(.infinity), .double(-.infinity),
    .double(1e300), .double(-0.0), .double(.leastNonzeroMagnitude), .int(.max), .int(.min),
    .int(1 << 53 + 1), .string(""), .string("\0"), .string("\u{FFFD}"), .bytes([]), .array([]), .map([:]),
    .map(["": .null]), .map(["_id": .int(1)]), .counter(.min),
    .attachment(AttachmentToken(id: [], byteCount: .max)),
  ])
  func `an odd value is kept as it is, here and at a peer`(value: Value) throws {
    var (a, b) = (Peer(1), Peer(2))
    try a.upsert(["v": value], now: 1)
    try a.update([.set(["w"], value)], now: 2)
    try b.pull(a)
    for peer in [a, b] { try expectEqual(peer.fields, ["v": value, "w": value]) }
    // Writing the same again writes nothing.
    #expect(try !a.upsert(["v": value, "w": value], .updateDifferentValues, now: 3))
  }

  @Test func `every NaN is the same NaN`() throws {
    var a = Peer(1)
    try a.upsert(["v": .double(Double(nan: 0x123, signaling: false))], now: 1)
    guard case .double(let value)? = try a.fields?["v"] else {
      Issue.record("no double")
      return
    }
    #expect(value.bitPattern == 0x7FF8_0000_0000_0000)
  }

  @Test(arguments: [(64, false), (64, true), (65, false), (65, true), (10_000, false), (10_000, true)])
  func `a value nests 64 deep and no deeper`(levels: Int, inArray: Bool) throws {
    let value = Self.nested(levels, inArray: inArray)
    let expected: DocumentError.Code? = levels <= 64 ? nil : .depth
    var a = Peer(1)
    #expect(code { try a.upsert(["v": value], now: 1) } == expected)
    #expect((a.document == nil) == (expected != nil))
    try a.upsert(["x": .int(1)], now: 2)
    #expect(code { try a.update([.set(["v"], value)], now: 3) } == expected)
    if expected == nil {
      var b = Peer(2)
      try b.pull(a)
      #expect(try b.fields == a.fields)
    } else {
      #expect(try a.fields == ["x": .int(1)])
    }
  }

  @Test func `a path leads through 64 maps and no more`() throws {
    var a = Peer(1)
    try a.upsert(["x": .int(1)], now: 1)
    let path = (0..<65).map { TextKey("k\($0)") }
    try a.update([.set(path, .int(1))], now: 2)
    #expect(try a.fields?.count == 2)
    for deep in [path + ["one"], Array(repeating: "k", count: 10_000)] {
      expectEqual(code { try a.update([.set(deep, .int(1))], now: 3) }, .depth)
      expectEqual(code { try a.update([.increment(deep, 1)], now: 3) }, .depth)
    }
    #expect(code { try a.update([.set(path, .map(["too": .int(1)]))], now: 3) } == .depth)
    #expect(code { try a.update([.set([], .int(1))], now: 3) } == .invalidPath)
  }

  @Test func `a key takes at most 65,535 bytes, at any level`() throws {
    var a = Peer(1)
    let long = TextKey(String(repeating: "k", count: 65_535))
    try a.upsert([long: .int(1), "m": .map([long: .int(2)])], now: 1)
    #expect(try a.fields?[long] == .int(1))
    for fields: [TextKey: Value] in [["\(long)k": Value.int(1)], ["m": .map(["\(long)k": .int(1)])]] {
      expectEqual(code { try a.upsert(fields, now: 2) }, .invalidPath)
      var fresh = Peer(2)
      expectEqual(code { try fresh.upsert(fields, now: 2) }, .invalidPath)
    }
    #expect(code { try a.update([.set(["\(long)k"], .int(1))], now: 2) } == .invalidPath)
    #expect(code { try a.update([.set(["m"], .map(["\(long)k": .int(1)]))], now: 2) } == .invalidPath)
  }

  @Test func `an id of a megabyte, and one of a type that is none, are refused`() {
    #expect(code { _ = try DocumentID(String(repeating: "i", count: 1 << 20)) } == .invalidID)
    #expect(code { _ = try DocumentID(.bytes(Array(repeating: 0, count: 1 << 20))) } == .invalidID)
    #expect(code { _ = try DocumentID(Self.nested(10_000)) } == .invalidID)
    for value in [Value.null, .double(1), .counter(1), .array([.double(.nan)]), .map(["k": .null])] {
      expectEqual(code { _ = try DocumentID(value) }, .invalidID)
    }
  }

  @Test func `an id cannot be changed, and a field of that name below the top is one like any other`() throws
  {
    var a = Peer(1)
    try a.upsert(["_id": .string("other"), "x": .int(1)], now: 1)
    #expect(try a.fields == ["x": .int(1)])
    for edit in [
      Edit.set(["_id"], .int(1)), .replace(["_id"], .int(1)), .remove(["_id"]), .increment(["_id"], 1),
      .set(["_id", "k"], .int(1)),
    ] {
      expectEqual(code { try a.update([.set(["x"], .int(2)), edit], now: 2) }, .invalidPath)
    }
    #expect(try a.fields == ["x": .int(1)])
    try a.update([.set(["m", "_id"], .int(1))], now: 3)
    #expect(try a.fields?["m"] == .map(["_id": .int(1)]))
  }

  @Test func `a counter in an array, and an increment of what is no number, are refused`() throws {
    var a = Peer(1)
    #expect(code { try a.upsert(["v": .array([.counter(1)])], now: 1) } == .notACounter)
    #expect(code { try a.upsert(["v": .array([.map(["k": .counter(1)])])], now: 1) } == .notACounter)
    #expect(a.document == nil)
    let values: [Value] = [
      .null, .bool(true), .double(1), .double(.nan), .string("1"), .bytes([1]), .array([]), .map([:]),
    ]
    for value in values {
      try a.upsert(["v": value], now: 2)
      expectEqual(code { try a.update([.set(["x"], .int(1)), .increment(["v"], 1)], now: 3) }, .notACounter)
      try expect(a.fields?["x"] == nil)
    }
  }

  @Test func `counters stop at the edges of 64 bits, and come back from them alike`() throws {
    var (a, b) = (Peer(1), Peer(2))
    try a.upsert([:], now: 1)
    try a.update([.restart(["n"], .max)], now: 1)
    try b.pull(a)
    try a.update([.increment(["n"], .max)], now: 2)
    try a.update([.increment(["n"], .max)], now: 3)
    #expect(try a.fields == ["n": .counter(.max)])
    try b.update([.increment(["n"], .min)], now: 4)
    try a.pull(b)
    try b.pull(a)
    #expect(try a.fields == b.fields)
    #expect(try a.fields == ["n": .counter(.max - 1)])
  }

  @Test func `a document from the end of time is refused, and the latest that is taken stays writable`()
    throws
  {
    var (a, b) = (Peer(1), Peer(2))
    let latest = ClockReading.latestAccepted
    var future = Peer(9)
    try future.upsert(["x": .int(1)], .merge, Stamping(site: future.site, reading: latest))
    try a.pull(future)
    for turn in 0..<100 as Range<Int64> { try a.update([.set(["x"], .int(turn))], now: 10) }
    #expect(try a.fields == ["x": .int(99)])
    #expect(a.clock.latest < ClockReading(milliseconds: 1_000))
    var beyond = Peer(8)
    for reading in [latest.next, ClockReading(rawValue: .max)] {
      beyond.evict()
      try beyond.upsert(["x": .int(1)], .merge, Stamping(site: beyond.site, reading: reading))
      #expect(throws: CodecError.self) { try b.pull(beyond) }
      try beyond.update([.set(["y"], .int(1))], Stamping(site: beyond.site, reading: reading))
      #expect(throws: CodecError.self) { try b.pull(beyond) }
    }
    #expect(b.document == nil)
  }

  @Test func `the bound of what is taken in moves on with the wall clock`() {
    let now: UInt64 = 1_800_000_000_000
    let bound = now + HybridClock.maximumDocumentLead
    #expect(HybridClock.accepts(ClockReading(milliseconds: bound, counter: .max), now: now))
    #expect(!HybridClock.accepts(ClockReading(milliseconds: bound + 1), now: now))
    #expect(HybridClock.accepts(ClockReading(milliseconds: bound + 1), now: now + 1))
    #expect(HybridClock.accepts(.zero, now: 0) && !HybridClock.accepts(ClockReading(rawValue: .max), now: 0))
    #expect(HybridClock.accepts(ClockReading(rawValue: .max), now: .max))
  }
}
