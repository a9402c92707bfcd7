import CRDTCore
import TestKit
import Testing

@testable import dunlin

/// Files cut into records, in whatever pieces their bytes come.
@Suite struct CutterTests {
  private struct Cut: Hashable {
    var line: Int
    var text: String
  }

  /// Cuts a text that comes in pieces of `size` bytes.
  private func cut(_ text: String, with cutter: some RecordCutter, size: Int) throws -> [Cut] {
    try cut(Array(text.utf8), with: cutter, size: size)
  }

  private func cut(_ bytes: [UInt8], with cutter: some RecordCutter, size: Int) throws -> [Cut] {
    var (cutter, found) = (cutter, [Cut]())
    func take(_ line: Int, _ record: RawSpan) {
      found.append(Cut(line: line, text: String(decoding: record.array, as: UTF8.self)))
    }
    for start in stride(from: 0, to: bytes.count, by: size) {
      let piece = Array(bytes[start..<min(start + size, bytes.count)])
      try cutter.append(piece.span.bytes, take)
    }
    try cutter.finish(take)
    return found
  }

  private static let sizes = [1, 2, 3, 7, 1_000]

  @Test(arguments: sizes)
  func `an array is cut into its elements, with the lines they begin in`(size: Int) throws {
    let text = """
      \u{FEFF} [
        {"a": "]},{\\"[", "b": [1, {"c": []}]},

        7 ,"x,y"
        , {
          "d": null
        }]

      """
    let found = try cut(text, with: JSONArrayCutter(), size: size)
    #expect(found.map(\.line) == [2, 4, 4, 5])
    #expect(
      found.map { $0.text.filter { $0 != "\n" && $0 != " " } }
        == [#"{"a":"]},{\"[","b":[1,{"c":[]}]}"#, "7", #""x,y""#, #"{"d":null}"#])
    for empty in ["[]", " [ \n ] \n"] {
      try expect(cut(empty, with: JSONArrayCutter(), size: size).isEmpty)
    }
    // What is wrong within the array is the parser's to say: the others are cut all the same.
    #expect(
      try cut("[1,,tru,{]},2,]", with: JSONArrayCutter(), size: size).map(\.text)
        == ["1", "", "tru", "{]}", "2", ""])
  }

  @Test(arguments: [
    ("", 1, "before the array"), ("[", 1, "before the array"), ("[1,\n", 2, "before the array"),
    ("\n{}", 2, "expected an array"), ("[1] x", 1, "behind the array"),
    ("[1,\n\n{\"a\":[1}]", 3, "that begins here"), ("[\"a", 1, "that begins here"),
    ("[{},\n \"\(String(repeating: "x", count: 200))\"]", 2, "more than 100 bytes"),
  ])
  func `an array that is none is an error with the line`(text: String, line: Int, words: String) throws {
    for size in Self.sizes {
      let error = try #require(throws: CuttingError.self) {
        try cut(text, with: JSONArrayCutter(maximumBytes: 100), size: size)
      }
      expect(error.line == line && error.message.contains(words), "\(error) in pieces of \(size)")
    }
  }

  private func csv(_ maximumBytes: Int = 1_000) -> SeparatedCutter {
    SeparatedCutter(delimiter: UInt8(ascii: ","), maximumBytes: maximumBytes)
  }

  @Test(arguments: sizes)
  func `separated values are cut at line ends outside quotes`(size: Int) throws {
    let text = "\u{FEFF}\"a\nb\",c\r\n1,\"say \"\"hi\"\"\r\n2\"\n\n\r\n3,\"\"\n4,x\"\n\"5\"6\n7,8"
    #expect(
      try cut(text, with: csv(), size: size) == [
        Cut(line: 1, text: "\"a\nb\",c"), Cut(line: 3, text: "1,\"say \"\"hi\"\"\r\n2\""),
        Cut(line: 7, text: "3,\"\""), Cut(line: 8, text: "4,x\""), Cut(line: 9, text: "\"5\"6"),
        Cut(line: 10, text: "7,8"),
      ])
    // The first bytes of a mark may be those of another character.
    #expect(try cut("\u{FEFE}x\n", with: csv(), size: size).map(\.text) == ["\u{FEFE}x"])
    #expect(try cut("", with: csv(), size: size).isEmpty)
    // Quotes that nobody closes take the rest of the file, and are told with the line they open in.
    #expect(try cut("a\n\"b\nc\n", with: csv(), size: size).last == Cut(line: 2, text: "\"b\nc\n"))
    let error = try #require(throws: CuttingError.self) {
      try cut("a\n\"\(String(repeating: "b\n", count: 100))", with: csv(50), size: size)
    }
    #expect(error.line == 2 && error.message.contains("more than 50 bytes"))
  }

  @Test(arguments: [
    ("a,\"b,\"\"c\"\"\n\",,\"\"", ["a", "b,\"c\"\n", "", ""], [false, true, false, true]),
    (" a ,b\t", [" a ", "b\t"], [false, false]), (",", ["", ""], [false, false]),
    ("é,\"\u{1F600}\"", ["é", "\u{1F600}"], [false, true]),
  ])
  func `a record is its values`(record: String, texts: [String], quoted: [Bool]) throws {
    let bytes = Array(record.utf8)
    let cells = try SeparatedRecord.cells(bytes.span.bytes, delimiter: UInt8(ascii: ","))
    #expect(cells.map(\.text) == texts && cells.map(\.isQuoted) == quoted)
  }

  @Test(arguments: [
    ("a,b\"c", "column 2: a quote"), ("\"a\"b", "column 1: something stands behind"),
    ("a,\"b", "column 2: the quotes that open here are not closed"), ("a\rb", "column 1: a carriage return"),
  ])
  func `a record that is malformed says in which column`(record: String, words: String) {
    let bytes = Array(record.utf8)
    let error = #expect(throws: SeparatedRecord.Malformed.self) {
      try SeparatedRecord.cells(bytes.span.bytes, delimiter: UInt8(ascii: ","))
    }
    #expect(error?.message.contains(words) == true, "\(String(describing: error))")
  }

  @Test func `bytes that are no text are refused`() {
    let bytes: [UInt8] = [0x61, 0x2C, 0xFF]
    let error = #expect(throws: SeparatedRecord.Malformed.self) {
      try SeparatedRecord.cells(bytes.span.bytes, delimiter: UInt8(ascii: ","))
    }
    #expect(error?.message == "column 2: the text is no UTF-8")
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `what is written is read again, whatever the values are`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let delimiter = random.pick([UInt8(ascii: ","), UInt8(ascii: "\t"), UInt8(ascii: ";")])
    let pieces = ["a", "\"", ",", "\t", ";", "\n", "\r\n", " ", "é", "\u{FEFF}", "'", "\\"]
    let width = 1 + random.int(below: 5)
    let records = (0..<30).map { _ in
      (0..<width).map { _ in
        let text = (0..<random.int(below: 6)).map { _ in random.pick(pieces) }.joined()
        return SeparatedCell(text: text, isQuoted: text.isEmpty || random.oneIn(3))
      }
    }
    var bytes: [UInt8] = []
    for record in records { SeparatedRecord.write(record, delimiter: delimiter, to: &bytes) }
    let size = 1 + random.int(below: 40)
    let found = try cut(bytes, with: SeparatedCutter(delimiter: delimiter), size: size).map { cut in
      let text = Array(cut.text.utf8)
      return try SeparatedRecord.cells(text.span.bytes, delimiter: delimiter).map(\.text)
    }
    #expect(found == records.map { $0.map(\.text) })
  }
}
