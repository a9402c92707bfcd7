import DunlinKit
import Foundation
import TestKit
import Testing

/// What goes in comes out, whatever type of Swift or Foundation it had.
@Suite struct ValueConversionTests {
  let peer: Peer

  init() throws { peer = try Peer() }

  private func stored(_ value: Any?) throws -> DunlinDocumentPath {
    let id = try peer.store["values"].upsert(["v": value])
    return try #require(try peer.store["values"].findByID(id).exec())["v"]
  }

  @Test func `integers of every width are integers`() throws {
    let numbers: [any BinaryInteger & Sendable] = [
      Int(7), Int8(7), Int16(7), Int32(7), Int64(7), UInt(7), UInt8(7), UInt16(7), UInt32(7), UInt64(7),
    ]
    for number in numbers { try expectEqual(stored(number).value as? Int, 7, "\(type(of: number))") }
    #expect(try stored(Int64.max).int == .max)
    #expect(try stored(Int64.min).int == .min)
    #expect(throws: DunlinError.self) { try stored(UInt64.max) }
  }

  @Test func `fractions, booleans, strings and bytes keep their types`() throws {
    #expect(try stored(1.0).value as? Double == 1)
    #expect(try stored(Float(1.5)).value as? Double == 1.5)
    #expect(try stored(true).value as? Bool == true)
    #expect(try stored("é").value as? String == "é")
    #expect(try stored([1, 2] as [UInt8]).value as? [UInt8] == [1, 2])
    #expect(try stored(Data([1, 2])).data == Data([1, 2]))
    #expect(try stored([UInt8]()).data == Data())
    #expect(try stored([Int]()).array?.isEmpty == true)
  }

  @Test func `nothing is null in all its forms`() throws {
    let nothings: [Any?] = [nil, NSNull(), Int?.none as Any, [String: Int]?.none as Any]
    for nothing in nothings {
      let path = try stored(nothing)
      expect(path.exists)
      expect(path.value == nil)
    }
    #expect(try stored(Int?.some(3) as Any).int == 3)
  }

  @Test func `a date is a string of ISO 8601 in UTC with milliseconds`() throws {
    let cases: [(Double, String)] = [
      (0, "1970-01-01T00:00:00.000Z"), (1_663_444_846.945, "2022-09-17T20:00:46.945Z"),
      (951_782_400, "2000-02-29T00:00:00.000Z"), (-0.001, "1969-12-31T23:59:59.999Z"),
      (-62_135_596_800, "0001-01-01T00:00:00.000Z"), (253_402_300_799.999, "9999-12-31T23:59:59.999Z"),
    ]
    for (seconds, text) in cases {
      let path = try stored(Date(timeIntervalSince1970: seconds))
      expectEqual(path.stringValue, text)
      let date = try #require(path.date)
      expect(abs(date.timeIntervalSince1970 - seconds) < 0.001)
    }
    #expect(try stored("2022-09-17T20:00:46Z").date == Date(timeIntervalSince1970: 1_663_444_846))
    #expect(try stored("2022-13-45T20:00:46.000Z").date == nil)
    #expect(throws: DunlinError.self) { try stored(Date.distantFuture.addingTimeInterval(1e13)) }
  }

  @Test func `what JSONSerialization makes is stored as it was meant`() throws {
    let text =
      #"{"a": true, "b": 1, "c": 1.5, "d": null, "e": [0, false, {"f": 9007199254740993}], "g": "x"}"#
    let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    let id = try peer.store["values"].upsert(object)
    var document = try #require(try peer.store["values"].findByID(id).exec()).value
    document["_id"] = nil
    let back = try #require(try peer.store["values"].findByID(id).exec())
    #expect(back["a"].value as? Bool == true)
    #expect(back["b"].value as? Int == 1)
    #expect(back["c"].value as? Double == 1.5)
    #expect(back["d"].exists && back["d"].value == nil)
    #expect(back["e"][1].value as? Bool == false)
    #expect(back["e"][2]["f"].value as? Int == 9_007_199_254_740_993)
    #expect(document.count == 6)
  }

  @Test func `numbers of Foundation are what they say they are`() throws {
    #expect(try stored(NSNumber(value: true)).value as? Bool == true)
    #expect(try stored(NSNumber(value: 3)).value as? Int == 3)
    #expect(try stored(NSNumber(value: 2.0)).value as? Double == 2)
  }

  @Test func `nesting has a bound and a clear error`() throws {
    var value: Any = 1
    for _ in 0..<60 { value = ["n": value] }
    #expect(try stored(value).dictionary != nil)
    for _ in 0..<40 { value = ["n": value] }
    let error = try #require(throws: DunlinError.self, performing: { try stored(value) })
    #expect(error.code == .limit)
  }

  @Test func `a counter reads as its sum and keeps to be a counter`() throws {
    let path = try stored(DunlinCounter(5))
    #expect(path.counter == DunlinCounter(5))
    #expect(path.value as? Int == 5)
    #expect(path.doubleValue == 5)
    #expect(try stored(5).counter == nil)
  }

  @Test func `ids compare with literals and order by value`() throws {
    let store = peer.store["ids"]
    let ids: [DunlinDocumentID] = [
      try store.upsert(["_id": "abc123"]), try store.upsert(["_id": 7]), try store.upsert(["_id": true]),
      try store.upsert(["_id": ["a", 1] as [Any?]]),
    ]
    #expect(ids[0] == "abc123")
    #expect(ids[1] == 7)
    #expect(ids[2] == true)
    #expect(ids.map(\.description) == ["abc123", "7", "true", #"["a",1]"#])
    #expect(try store.findByID(7).exec()?["_id"].int == 7)
    let sorted = try store.findAll().sort("_id", direction: .ascending).exec().map(\.id)
    #expect(sorted == [ids[2], ids[1], ids[0], ids[3]])
    // An id that was made is a value like any other.
    let made = try store.upsert(["x": 1])
    try store.upsert(["_id": "ref", "other": made])
    #expect(try store.findByID("ref").exec()?["other"].string == made.string)
  }
}
