import CRDTCore
import TestKit
import Testing

@Suite struct JSONLinesTests {
  private func lines(
    of chunks: [[UInt8]], limit: Int = 1000
  ) throws -> [String] {
    var splitter = JSONLines(maximumLineBytes: limit)
    var found: [String] = []
    func note(_ number: Int, _ line: RawSpan) {
      var reader = ByteReader(line)
      let bytes = (0..<line.byteCount).compactMap { _ in try? reader.readByte() }
      found.append("\(number):" + String(decoding: bytes, as: UTF8.self))
    }
    for chunk in chunks { try splitter.append(chunk.span.bytes, note) }
    try splitter.finish(note)
    return found
  }

  @Test(arguments: 0..<50 as Range<UInt64>)
  func `gives the same lines however the stream is cut`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let text = "{\"a\":1}\n\n  \r\n[1,2,3,\"a rather long line\"]\r\n\"last, without an end\""
    let expected = ["1:{\"a\":1}", "4:[1,2,3,\"a rather long line\"]\r", "5:\"last, without an end\""]
    var rest = Array(text.utf8)[...]
    var chunks: [[UInt8]] = []
    while !rest.isEmpty {
      let count = min(generator.int(below: 12), rest.count)
      chunks.append(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    #expect(try lines(of: chunks) == expected, "seed \(seed)")
  }

  @Test func `an empty stream has no lines`() throws {
    #expect(try lines(of: []) == [])
    #expect(try lines(of: [[], Array("\n\n".utf8)]) == [])
  }

  @Test func `refuses a line that is too long, whole or in pieces`() throws {
    #expect(try lines(of: [Array("1234\n5".utf8)], limit: 4) == ["1:1234", "2:5"])
    for chunks in [["12345\n"], ["123", "45\n"], ["12345"], ["1\n123", "45"]] {
      let error = #expect(throws: JSONError.self) { try lines(of: chunks.map { Array($0.utf8) }, limit: 4) }
      expectEqual(error?.code, .lineLength)
    }
  }

  @Test func `names the line at which a reader stopped`() throws {
    var splitter = JSONLines()
    let text = Array("{}\n{}\n{\n{}\n".utf8)
    #expect(throws: JSONError.self) {
      try splitter.append(text.span.bytes) { _, line in _ = try JSON.parse(line) }
    }
    #expect(splitter.lineNumber == 4)
  }
}
