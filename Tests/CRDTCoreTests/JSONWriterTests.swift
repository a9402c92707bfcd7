import CRDTCore
import TestKit
import Testing

@Suite struct JSONWriterTests {
  private static let token = AttachmentToken(id: [1, 2], byteCount: .max, metadata: ["name": "a"])

  @Test(
    arguments: [
      (.null, "null"), (.bool(true), "true"), (.int(.min), "-9223372036854775808"), (.int(0), "0"),
      (.int(120), "120"),
      (.double(1), "1.0"), (.double(0.1), "0.1"), (.double(1e100), "1e+100"), (.double(-0.0), "-0.0"),
      (.double(.leastNonzeroMagnitude), "5e-324"), (.double(.nan), #"{"$double":"nan"}"#),
      (.double(-.infinity), #"{"$double":"-inf"}"#),
      (.string("a\"b\\c\n\r\t\u{8}\u{C}\u{1}\u{1F}é😀/"), #""a\"b\\c\n\r\t\b\f\u0001\u001fé😀/""#),
      (.bytes([]), #"{"$bytes":""}"#), (.bytes([1]), #"{"$bytes":"AQ=="}"#),
      (.bytes([255, 254]), #"{"$bytes":"//4="}"#),
      (.bytes([0, 16, 131]), #"{"$bytes":"ABCD"}"#), (.counter(-5), "-5"),
      (.array([.int(1), .null]), "[1,null]"),
      (.map(["b": .int(1), "a": .map([:]), "é": .array([])]), #"{"a":{},"b":1,"é":[]}"#),
      (
        .attachment(token),
        #"{"$attachment":{"bytes":18446744073709551615,"id":"AQI=","metadata":{"name":"a"}}}"#
      ),
    ] as [(Value, String)])
  func `writes one line with sorted keys and tags for what JSON lacks`(value: Value, expected: String) {
    #expect(JSON.text(of: value) == expected)
  }

  @Test(
    arguments: [
      .string(String(repeating: "\u{1}", count: 100_000)), .array(Array(repeating: .null, count: 100_000)),
      .map(Dictionary(uniqueKeysWithValues: (0..<100_000).map { (TextKey("\($0)"), .int(1)) })),
      .array(Array(repeating: .array(Array(repeating: .string("text"), count: 100)), count: 1_000)),
    ] as [Value])
  func `a text that is too long is cut soon after the limit`(value: Value) {
    var whole: [UInt8] = []
    JSON.write(value, to: &whole)
    var bytes: [UInt8] = []
    #expect(JSON.write(value, to: &bytes, atMost: whole.count))
    #expect(bytes == whole)
    bytes = []
    #expect(!JSON.write(value, to: &bytes, atMost: whole.count - 1))
    bytes = [1, 2, 3]
    #expect(!JSON.write(value, to: &bytes, atMost: 1_000))
    #expect(bytes.starts(with: [1, 2, 3]) && 1_001...1_100 ~= bytes.count)
  }

  @Test(arguments: [
    ("1", 1), (#"{"a":[1,2,"x,y:[{"],"b\"":{}}"#, 9), (#""\\",1"#, 2), ("[[[]]]", 4),
  ])
  func `the values of a text are counted without parsing it`(text: String, count: Int) {
    #expect(text.withUTF8Bytes { JSON.valueCount(in: $0) } == count)
  }

  @Test func `sorts keys by their bytes`() {
    let keys: [TextKey] = ["z", "aa", "a", "A", "\u{FFFF}", "\u{10000}", "é"]
    let map = Value.map(Dictionary(uniqueKeysWithValues: keys.map { ($0, .null) }))
    #expect(
      JSON.text(of: map)
        == "{\"A\":null,\"a\":null,\"aa\":null,\"z\":null,\"é\":null,\"\u{FFFF}\":null,\"\u{10000}\":null}")
  }

  @Test func `indents by two spaces when asked`() {
    let value = Value.map(["a": .array([.int(1), .map(["b": .null])]), "c": .array([]), "d": .map([:])])
    let expected = """
      {
        "a": [
          1,
          {
            "b": null
          }
        ],
        "c": [],
        "d": {}
      }
      """
    #expect(JSON.text(of: value, options: .init(isPretty: true)) == expected)
  }

  @Test func `appends to what is there`() {
    var bytes = Array("x".utf8)
    JSON.write(.int(1), to: &bytes)
    JSON.write(.bool(false), to: &bytes)
    #expect(String(decoding: bytes, as: UTF8.self) == "x1false")
  }

  @Test func `a map that looks like a tag survives a lossless round trip`() throws {
    for value: Value in [
      .map(["$bytes": .string("AQ==")]), .map(["$$bytes": .string("AQ==")]), .map(["$counter": .counter(4)]),
      .map(["$other": .int(1)]), .map(["$bytes": .int(1), "more": .int(2)]),
    ] {
      let text = JSON.text(of: value, options: .init(isLossless: true))
      try expectEqual(JSON.parse(text, options: .init(interpretsTags: true)), value, "\(text)")
    }
  }

  @Test(arguments: [
    #"{"$bytes":"AQ="}"#, #"{"$bytes":"AR=="}"#, #"{"$bytes":"A Q="}"#, #"{"$bytes":"===="}"#,
    #"{"$bytes":"A==="}"#,
    #"{"$bytes":1}"#, #"{"$double":"1.0"}"#, #"{"$counter":1.5}"#, #"{"$attachment":{}}"#,
    #"{"$attachment":{"bytes":-1,"id":"AQI=","metadata":{}}}"#,
    #"{"$attachment":{"bytes":1,"id":"AQI=","metadata":{"a":1}}}"#,
  ])
  func `refuses a tag with the wrong content, and takes it for a map unless asked`(text: String) throws {
    let error = #expect(throws: JSONError.self) { try JSON.parse(text, options: .init(interpretsTags: true)) }
    #expect(error?.code == .invalidTag)
    guard case .map = try JSON.parse(text) else {
      Issue.record("not a map")
      return
    }
  }
}
