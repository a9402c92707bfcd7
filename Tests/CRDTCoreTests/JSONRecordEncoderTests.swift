import CRDTCore
import CRDTModel
import TestKit
import Testing

/// The way from JSON to a record past values must come to the same bytes as the way by them.
@Suite struct JSONRecordEncoderTests {
  private let stamping = Stamping(site: SiteID(high: 1, low: 2), reading: ClockReading(milliseconds: 77))

  private func general(
    _ fields: [TextKey: Value], _ strategy: WriteStrategy, _ tables: inout RecordTables
  ) throws -> EncodedDocument? {
    try DocumentCodec.upsert(fields, strategy: strategy, existing: nil, stamping: stamping, tables: &tables)
  }

  /// Encodes a text both ways, with keys that are known.
  ///
  /// - Returns: Whether the short way took it.
  private func compare(
    _ text: String, _ encoder: inout JSONRecordEncoder, _ tables: inout RecordTables,
    _ strategy: WriteStrategy = .merge
  ) throws -> Bool {
    guard case .map(let fields) = try JSON.parse(text) else { return false }
    let expected = try #require(try general(fields, strategy, &tables))
    guard
      let encoded = encoder.encode(
        Array(text.utf8).span.bytes, isDefault: strategy == .insertDefaultIfAbsent, stamping: stamping,
        tables: &tables)
    else { return false }
    expectEqual(encoded.document.record, expected.record, "\(text)")
    expectEqual(encoded.document.summary, expected.summary, "\(text)")
    expect(encoded.document.isAlive)
    expectEqual(encoded.id, (try DocumentID(fields["_id"] ?? .null)).bytes)
    return true
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `random documents come to the same bytes and summary, in any order of their keys`(block: UInt64) throws
  {
    var taken = 0
    var encoder = JSONRecordEncoder()
    var tables = RecordTables()
    for seed in block * 100..<block * 100 + 100 {
      var random = RandomDocument(seed: seed)
      var fields = random.fields()
      if seed % 4 != 3 { fields = fields.filter { $0.value.isPlain } }
      fields["_id"] = .string("d\(seed)")
      fields["note"] = .string("plain \"quoted\"\nsecond line é")
      fields["geo"] = .map(["lat": .double(1.25), "lon": .double(-0.1), "deep": .map(["n": .int(7)])])
      var members = fields.map { "\(JSON.text(of: .string($0.key.text))):\(JSON.text(of: $0.value))" }
        .sorted()
      if seed % 2 == 0 { members.reverse() }
      let text = "{ \(members.joined(separator: " ,\t")) }"
      let strategy: WriteStrategy = seed % 3 == 0 ? .insertDefaultIfAbsent : .merge
      if try compare(text, &encoder, &tables, strategy) { taken += 1 }
    }
    #expect(taken > 15, "only \(taken) of 100 documents went the short way")
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `what it takes of damaged text is what the general way takes`(block: UInt64) throws {
    var encoder = JSONRecordEncoder()
    var tables = RecordTables()
    var taken = 0
    for seed in block * 500..<block * 500 + 500 {
      var random = SeededGenerator(seed: seed)
      var fields: [TextKey: Value] = [
        "_id": .string("d\(seed)"), "n": .int(Int64(random.int(below: 1_000)) - 500), "t": .bool(true),
        "text": .string("é\"\n\u{1F600} plain"), "m": .map(["n": .double(-1.5e-7), "z": .null]),
        "list": .array([.int(1), .string("two"), .array([])]),
      ]
      if seed % 2 == 0 { fields["text"] = .string("plain") }
      _ = try general(fields, .merge, &tables)
      let whole = Array(JSON.text(of: .map(fields)).utf8)
      for _ in 0..<8 {
        let text = random.damaged(whole)
        guard
          let encoded = encoder.encode(
            text.span.bytes, isDefault: false, stamping: stamping, tables: &tables)
        else { continue }
        taken += 1
        guard case .map(let read) = try JSON.parse(text) else {
          Issue.record("no object: \(String(decoding: text, as: UTF8.self))")
          continue
        }
        let expected = try #require(try general(read, .merge, &tables))
        expectEqual(encoded.document.record, expected.record, "seed \(seed)")
        expectEqual(encoded.document.summary, expected.summary, "seed \(seed)")
        expectEqual(encoded.id, (try DocumentID(read["_id"] ?? .null)).bytes, "seed \(seed)")
      }
    }
    #expect(taken > 100, "only \(taken) of 4,000 texts were taken")
  }

  @Test(arguments: [
    #"{"_id":"a"}"#, #"{"_id":"a","n":null,"t":true,"f":false}"#, #"{"n":-36028797018963969,"_id":"a"}"#,
    #"{"_id":"a","s":"","six":"123456","seven":"1234567"}"#, #"{"_id":"a","e":"\u00e9\"\\\n"}"#,
    #"{"_id":"a","list":[1,-2,"x",[],["y"]],"empty":[]}"#, #"{"_id":"a","m":{},"n":{"_id":1,"m":{}}}"#,
    #"{"_id":"é","price":9.5e0,"big":1e300,"tiny":0.1}"#,
  ])
  func `takes`(text: String) throws {
    var encoder = JSONRecordEncoder()
    var tables = RecordTables()
    #expect(try compare(text, &encoder, &tables))
  }

  @Test(arguments: [
    #"{}"#, #"{"a":1}"#, #"{"_id":5}"#, #"{"_id":""}"#, #"{"_id":"a\n"}"#, #"{"_id":"a","_id":"b"}"#,
    #"{"_id":"a","a":1,"a":2}"#, #"{"_id":"a","m":{"a":1,"a":2}}"#, #"{"_id":"a","$bytes":"AA=="}"#,
    #"{"_id":"a","unknown":1}"#, #"{"_id":"a","a":[{"a":1}]}"#, #"{"_id":"a","a":[1.5]}"#, #"{"_id":"a"} x"#,
    #"{"_id":"a","a":01}"#, #"{"_id":"a","a":1"#, #"{"_id":"a","a":"#, #"{"_id":"a","a"}"#, #"{"_id":"a",}"#,
    #"{"_id":"a","a":tru}"#, #"{"_id":"a","a":"\ud800"}"#, #"[]"#, #""#, #"{"_id":"a","a":1e999}"#,
  ])
  func `leaves to the general way`(text: String) throws {
    var encoder = JSONRecordEncoder()
    var tables = RecordTables()
    _ = try general(["a": .int(1), "m": .map([:])], .merge, &tables)
    let encoded = encoder.encode(
      Array(text.utf8).span.bytes, isDefault: false, stamping: stamping, tables: &tables)
    #expect(encoded == nil)
  }

  @Test func `leaves text that is not UTF-8 to the general way`() throws {
    var encoder = JSONRecordEncoder()
    var tables = RecordTables()
    _ = try general(["a": .int(1)], .merge, &tables)
    let text = Array(#"{"_id":"a","a":""#.utf8) + [0xC3] + Array(#""}"#.utf8)
    #expect(
      encoder.encode(text.span.bytes, isDefault: false, stamping: stamping, tables: &tables) == nil)
  }

  @Test func `goes on by another table, and by one that has grown`() throws {
    var encoder = JSONRecordEncoder()
    var first = RecordTables()
    _ = try general(["b": .int(1), "c": .int(1)], .merge, &first)
    #expect(try compare(#"{"_id":"x","b":1,"c":2}"#, &encoder, &first))
    // A name that sorts before the others changes their order, and another table has other ids.
    _ = try general(["a": .int(1)], .merge, &first)
    #expect(try compare(#"{"_id":"x","b":1,"c":2,"a":3}"#, &encoder, &first))
    var second = RecordTables()
    _ = try general(["c": .int(1)], .merge, &second)
    #expect(try compare(#"{"_id":"x","c":1}"#, &encoder, &second))
    #expect(try compare(#"{"_id":"x","b":1,"c":2,"a":3}"#, &encoder, &first))
  }
}

extension Value {
  /// Whether JSON has it without a tag, and not as part of an array.
  fileprivate var isPlain: Bool {
    switch self {
    case .null, .bool, .int, .string: true
    case .double(let value): value.isFinite
    case .map(let map): map.allSatisfy { $0.value.isPlain && !$0.key.text.isEmpty }
    default: false
    }
  }
}

extension SeededGenerator {
  /// A text with one to three bytes changed, removed, doubled or cut off.
  fileprivate mutating func damaged(_ text: [UInt8]) -> [UInt8] {
    let likely = Array(#"{}[]",:\u0123eE+-. _idn"#.utf8) + [0, 0x1F, 0x7F, 0x80, 0xC3, 0xF0, 0xFF]
    var text = text
    for _ in 0...int(below: 3) where !text.isEmpty {
      let place = int(below: text.count)
      switch int(below: 8) {
      case 0: text.remove(at: place)
      case 1: text.insert(text[place], at: place)
      case 2: text.removeSubrange(place...)
      case 3: text.insert(likely[int(below: likely.count)], at: place)
      case 4: text.swapAt(place, int(below: text.count))
      default: text[place] = likely[int(below: likely.count)]
      }
    }
    return text
  }
}
