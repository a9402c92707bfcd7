import CRDTCore
import TestKit
import Testing

/// JSON that gives back every value: tags, and maps that look like them.
@Suite struct TagTests {
  private func roundTrip(_ value: Value) throws -> Value {
    let text = JSON.text(of: value, options: .init(isLossless: true))
    return try JSON.parse(text, options: .init(interpretsTags: true))
  }

  private static let token = AttachmentToken(
    id: [1, 2, 255], byteCount: 9, metadata: ["$bytes": "AA==", "name": "x"])

  @Test(arguments: [
    Value.counter(.max), .counter(-3), .bytes([0, 255]), .bytes([]), .double(.nan), .double(-.infinity),
    .double(-0.0), .double(1), .double(.leastNonzeroMagnitude), .int(.min), .string("\u{0}\u{2028}é"), .null,
    .array([]), .map([:]),
    .attachment(token), .attachment(AttachmentToken(id: [], byteCount: 0, metadata: ["$counter": "1"])),
    .map(["$counter": .int(1)]), .map(["$bytes": .string("AA==")]), .map(["$double": .string("nan")]),
    .map(["$attachment": .map([:])]), .map(["$$counter": .int(1)]), .map(["$$$bytes": .null]),
    .map(["$other": .int(1)]), .map(["": .int(1)]), .map(["$": .map(["$counter": .counter(2)])]),
    .map(["$counter": .map(["$counter": .counter(1)])]), .array([.map(["$bytes": .bytes([7])])]),
  ])
  func `every value comes back`(value: Value) throws {
    #expect(try roundTrip(value) == value)
    #expect(
      try roundTrip(.map(["a": value, "b": .array([value])])) == .map(["a": value, "b": .array([value])]))
  }

  @Test func `a text without counters comes back where maps that look like tags are escaped`() throws {
    let value = Value.map([
      "a": .map(["$counter": .int(1)]), "b": .map(["$bytes": .string("AA==")]), "c": .bytes([7]),
      "d": .counter(2),
    ])
    let text = JSON.text(of: value, options: .init(escapesTags: true))
    #expect(text == #"{"a":{"$$counter":1},"b":{"$$bytes":"AA=="},"c":{"$bytes":"Bw=="},"d":2}"#)
    let again = try JSON.parse(text, options: .init(interpretsTags: true))
    guard case .map(var fields) = value else { return }
    fields["d"] = .int(2)
    #expect(again == .map(fields))
  }

  @Test func `tags take nothing from the levels that a value may have`() throws {
    func nested(_ value: Value, _ levels: Int) -> Value {
      (0..<levels).reduce(value) { inner, _ in .array([inner]) }
    }
    for leaf in [Value.counter(1), .bytes([1]), .attachment(Self.token), .double(.nan)] {
      try expectEqual(roundTrip(nested(leaf, Limits.depth)), nested(leaf, Limits.depth))
    }
    for levels in [1, 2, 3, 4] {
      let text = JSON.text(of: nested(.map([:]), Limits.depth - 1 + levels))
      #expect(throws: JSONError.self) { try JSON.parse(text, options: .init(interpretsTags: true)) }
    }
    let tag = "{\"$counter\":" + String(repeating: "[", count: 64) + String(repeating: "]", count: 64) + "}"
    #expect(throws: JSONError.self) { try JSON.parse(tag, options: .init(interpretsTags: true)) }
  }

  @Test(arguments: [
    (Duration.zero, "0 s"), (.microseconds(250), "250 µs"), (.seconds(0.083_048_594), "83 ms"),
    (.milliseconds(999), "999 ms"), (.seconds(1), "1 s"), (.milliseconds(1_449), "1.4 s"),
    (.seconds(30), "30 s"),
    (.seconds(119), "119 s"), (.seconds(600), "10 min"), (.seconds(7_200), "2 h"),
    (.seconds(604_800), "7 days"),
    (.milliseconds(-83), "-83 ms"), (.milliseconds(9_960), "10 s"), (.nanoseconds(999_999_999), "1 s"),
  ])
  func `a duration is told in a unit that fits it`(duration: Duration, text: String) {
    #expect(duration.text == text)
  }

  @Test func `numbers are told with their noun`() {
    #expect(1.counting("row") == "1 row")
    #expect(0.counting("row") == "0 rows")
    #expect(1_234_567.counting("entry", "entries") == "1,234,567 entries")
    #expect((-1_000).groupedDigits == "-1,000")
  }
}
