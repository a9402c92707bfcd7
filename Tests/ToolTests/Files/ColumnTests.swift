import CRDTCore
import TestKit
import Testing

@testable import dunlin

/// Names and types of columns.
@Suite struct ColumnTests {
  @Test(arguments: [
    ("7", ColumnType.int), ("-7", .int), ("0", .int), ("9223372036854775807", .int), ("1.5", .double),
    ("-0.5", .double), ("1.10", .double), ("0.30000000000000004", .double), ("1.5e-07", .double),
    ("true", .bool), ("false", .bool),
    // None of these is sure to be a number, or would come back as it is.
    ("007", .string), ("00", .string), ("-0", .string), ("+1", .string), ("1e5", .string), ("1E5", .string),
    ("9223372036854775808", .string), ("0.1234567890123456789", .string), (" 7", .string), ("7 ", .string),
    ("1.", .string), (".5", .string), ("1,5", .string), ("0x10", .string), ("nan", .string), ("inf", .string),
    ("01.5", .string), ("TRUE", .string), ("1_000", .string), ("12.05.2026", .string), ("-", .string),
    ("٣", .string), ("1.5e", .string), ("1.5e999", .string),
  ])
  func `a value is a number only where that loses nothing`(text: String, type: ColumnType) {
    #expect(ColumnDetection.kind(of: SeparatedCell(text: text)) == type)
    #expect(ColumnDetection.kind(of: SeparatedCell(text: text, isQuoted: true)) == .string)
  }

  @Test(arguments: [
    (["1", "", "-2"], ColumnType.int), (["1", "2.5"], .double), (["true", "false", ""], .bool),
    (["1", "007"], .string), (["1", "true"], .string), (["", ""], .string), ([], .string),
    (["1.5", "x"], .string),
  ])
  func `a column has the type that all its first values have`(texts: [String], type: ColumnType) {
    var detection = ColumnDetection()
    for text in texts { detection.note(SeparatedCell(text: text)) }
    #expect(detection.type == type)
  }

  @Test func `types are read as an argument, and what is none is refused`() throws {
    let types = try #require(ColumnTypes(argument: #"a:int,b.c:json,d\,e\:f:double,g:h:bool"#)).types
    #expect(
      types == [
        ColumnName(path: ["a"]): .int, ColumnName(path: ["b", "c"]): .json,
        ColumnName(path: ["d,e:f"]): .double, ColumnName(path: ["g:h"]): .bool,
      ])
    for wrong in ["", "a", "a:", "a:number", "a:int,a:int", "a:int,", ":int,b"] {
      expect(ColumnTypes(argument: wrong) == nil, "\(wrong)")
    }
  }

  @Test(arguments: 1...10 as ClosedRange<UInt64>)
  func `any path has a name, and any types an argument`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let pieces = ["a", ".", ",", ":", "\\", "é", " ", "\n", "x"]
    for _ in 0..<200 {
      let path = (0...random.int(below: 3)).map { _ in
        TextKey((0..<random.int(below: 5)).map { _ in random.pick(pieces) }.joined())
      }
      let name = ColumnName(path: path)
      expect(ColumnName(name.text) == name && ColumnName(name.argument) == name)
      var types = ColumnTypes()
      types.types[name] = random.pick([ColumnType.int, .json, .bytes])
      types.types[ColumnName(path: ["other"])] = .bool
      expectEqual(ColumnTypes(argument: types.argument)?.types, types.types, "\(types.argument)")
    }
  }

  private func value(_ text: String, _ type: ColumnType, isQuoted: Bool = false) throws -> Value? {
    try type.value(of: SeparatedCell(text: text, isQuoted: isQuoted))
  }

  @Test func `a type says what its values are, and what they are not`() throws {
    #expect(try value("007", .int) == .int(7))
    #expect(try value(" 1.5 ", .double) == .double(1.5))
    #expect(try value("nan", .double) == .double(.nan))
    #expect(try value("-0.0", .double) == .double(-0.0))
    #expect(try value("TRUE", .bool) == .bool(true))
    #expect(try value("0", .bool) == .bool(false))
    #expect(try value("3", .counter) == .counter(3))
    #expect(try value("/w==", .bytes) == .bytes([255]))
    #expect(try value("", .bytes, isQuoted: true) == .bytes([]))
    #expect(try value("[1,{\"$counter\":2}]", .json) == .array([.int(1), .counter(2)]))
    #expect(try value("", .string) == nil)
    #expect(try value("", .string, isQuoted: true) == .string(""))
    for type in ColumnType.allCases { try expect(value("", type) == nil) }
    for (text, type) in [
      ("x", ColumnType.int), ("1.5", .int), ("x", .double), ("yes", .bool), ("1.5", .counter), ("?", .bytes),
      ("{", .json),
    ] {
      let error = #expect(throws: ToolError.self) { try value(text, type) }
      expectEqual(error?.description.contains("value"), true)
    }
  }

  private func document(_ record: String, _ names: [String], _ types: String = "", sample: [String] = [])
    throws -> [TextKey: Value]
  {
    var decoder = try decoder(names, types, sample: sample)
    let bytes = Array(record.utf8)
    return try decoder.document(of: bytes.span.bytes, line: 7)
  }

  private func decoder(_ names: [String], _ types: String, sample: [String]) throws -> SeparatedDecoder {
    let cells = try sample.map { record in
      let bytes = Array(record.utf8)
      return try SeparatedRecord.cells(bytes.span.bytes, delimiter: UInt8(ascii: ","))
    }
    return SeparatedDecoder(
      names.map { ColumnName($0) }, types: ColumnTypes(argument: types) ?? ColumnTypes(), sample: cells,
      delimiter: UInt8(ascii: ","), interpretsTags: true)
  }

  @Test func `a record becomes a document, with maps where names have dots`() throws {
    #expect(
      try document("1,x,,y", ["_id", "a.b", "a.c", #"d\.e"#], "_id:int")
        == ["_id": .int(1), "a": .map(["b": .string("x")]), "d.e": .string("y")])
    #expect(
      try document("1,2", ["a.b.c", "a.b.d"], "a.b.c:int,a.b.d:int")
        == ["a": .map(["b": .map(["c": .int(1), "d": .int(2)])])])
    // One of two columns for the same field may have a value, and not both.
    #expect(try document(",2", ["a", "a.b"]) == ["a": .map(["b": .string("2")])])
    for names in [["a", "a.b"], ["a.b", "a"]] {
      let error = #expect(throws: ToolError.self) { try document("1,2", names) }
      expectEqual(error?.description.contains("for the same field"), true)
    }
  }

  @Test func `types that were found out hold for later values too, or these are text and told`() throws {
    var decoder = try decoder(["a", "b", "c"], "", sample: ["1,1.5,true", "2,2,false"])
    func read(_ record: String, _ line: Int) throws -> [TextKey: Value] {
      let bytes = Array(record.utf8)
      return try decoder.document(of: bytes.span.bytes, line: line)
    }
    #expect(try read("3,4,true", 4) == ["a": .int(3), "b": .double(4), "c": .bool(true)])
    #expect(
      try read("3.5,9007199254740993,x", 5) == [
        "a": .double(3.5), "b": .int(9_007_199_254_740_993), "c": .string("x"),
      ])
    #expect(try read("007,n/a,1", 6) == ["a": .string("007"), "b": .string("n/a"), "c": .string("1")])
    #expect(decoder.notes.count == 3)
    #expect(
      decoder.notes[2].contains("column c: 2 values are text") && decoder.notes[2].contains("line 5")
        && decoder.notes[2].contains("--types c:string"))
  }

  @Test func `a record of another width, and a value of another type, are told`() throws {
    #expect(throws: ToolError.self) { try document("1", ["a", "b"]) }
    let wide = #expect(throws: ToolError.self) { try document("1,2,3", ["a", "b"]) }
    #expect(wide?.description == "3 columns, where the header has 2")
    let wrong = #expect(throws: ToolError.self) { try document("x", ["a"], "a:int") }
    #expect(wrong?.description == "column a: the value is no integer of 64 bits")
  }

  @Test(arguments: [
    (["a", "a"], "two columns"), (["a", ""], "column 2 of the header has no name"),
    (["a", " a "], "two columns have the name a"),
  ])
  func `a header must name each column once`(names: [String], words: String) {
    let error = #expect(throws: ToolError.self) {
      try SeparatedDecoder.names(of: names.map { SeparatedCell(text: $0) })
    }
    #expect(error?.description.contains(words) == true)
  }
}
