import CRDTCore
import Foundation
import TestKit
import Testing

@testable import dunlin

/// Ids, formats by name, and the state of an import.
@Suite struct ImportPartsTests {
  @Test(arguments: [
    ("a.jsonl", FileFormat.jsonl), ("a.NDJSON", .jsonl), ("x/a.json.gz", .json), ("a.csv", .csv),
    ("a.CSV.GZ", .csv), ("a.tsv", .tsv), ("a.tab.gz", .tsv), ("a.txt", nil), ("-", nil), ("csv", nil),
    ("a.csv/data", nil), ("a.gz", nil),
  ])
  func `a format goes by the name`(path: String, format: FileFormat?) {
    #expect(FileFormat(path: path) == format)
  }

  @Test func `a template makes an id of fields`() throws {
    let fields: [TextKey: Value] = [
      "origin": .string("JFK"), "flight": .int(12), "at": .map(["gate": .string("B2")]), "n": .null,
      "list": .array([]), "ok": .bool(true),
    ]
    func id(_ template: String) throws -> Value? { try IDRule.template(IDTemplate(template)).id(for: fields) }
    #expect(try id("{origin}-{flight}") == .string("JFK-12"))
    #expect(try id("{{{at.gate}}}/{ok}!") == .string("{B2}/true!"))
    for wrong in ["", "plain", "{", "}", "a{b", "a}b", "{}", "{a{b}}"] {
      #expect(throws: ToolError.self, "\(wrong)") { try IDTemplate(wrong) }
    }
    for missing in ["{n}", "{gone}", "{at.gone}", "{list}", "{at}", "{origin.x}"] {
      let error = #expect(throws: ToolError.self) { try id(missing) }
      expectEqual(error?.description.contains(String(missing.dropFirst().dropLast())), true)
    }
    #expect(try IDRule.field(ColumnName("at.gate")).id(for: fields) == .string("B2"))
    #expect(try IDRule.field(ColumnName("flight")).id(for: fields) == .int(12))
    #expect(throws: ToolError.self) { try IDRule.field(ColumnName("n")).id(for: fields) }
    #expect(try IDRule.own.id(for: fields) == nil)
  }

  private func find(_ text: String) -> OwnID.Finding {
    let bytes = Array(text.utf8)
    return OwnID.find(in: bytes.span.bytes)
  }

  @Test func `an _id is found among the keys of the document alone`() {
    for text in [#"{"_id":1}"#, #" {"a":{"x":[1,2]},"_id" : 1} "#, #"{"a":"}\"","_id":null}"#] {
      expectEqual(find(text), .present, "\(text)")
    }
    #expect(find("{}") == .absent(brace: 1, isEmpty: true))
    #expect(find(#"{"a":"_id"}"#) == .absent(brace: 10, isEmpty: false))
    #expect(find(#"{"a":{"_id":1}}"#) == .absent(brace: 14, isEmpty: false))
    #expect(find(#"{"a":["_id",{"_id":2}]}"#) == .absent(brace: 22, isEmpty: false))
    for text in [
      #"{"\u005fid":1}"#, #"{"a":1} x"#, #"{"a":1}{"b":2}"#, "[1]", #"{"a":1]"#, #"{"a":1"#, #"{"a"#, "", "1",
    ] { expectEqual(find(text), .unknown, "\(text)") }
  }

  @Test(arguments: 1...10 as ClosedRange<UInt64>)
  func `an id that is added changes nothing else`(seed: UInt64) throws {
    var documents = DocumentMaker(seed: seed)
    for _ in 0..<100 {
      var fields = documents.fields()
      let text = JSON.text(
        of: .map(fields), options: .init(isPretty: documents.random.oneIn(2), isLossless: true))
      let bytes = Array(text.utf8)
      guard case .absent(let brace, let isEmpty) = OwnID.find(in: bytes.span.bytes) else {
        // A key with an escape, or a single one with a dollar sign, needs a closer look.
        expect(text.contains("\\") || text.contains("$"), "\(text)")
        continue
      }
      let more = OwnID.adding("an id", to: bytes.span.bytes, brace: brace, isEmpty: isEmpty)
      fields["_id"] = .string("an id")
      try expectEqual(JSON.parse(more, options: .init(interpretsTags: true)), .map(fields), "\(text)")
    }
  }

  @Test func `ids of records sort as the records do, and are the same again`() throws {
    // Whatever the random bits are.
    for _ in 0..<50 { expectEqual(RecordIDs().prefix.count, 18) }
    let ids = RecordIDs()
    let all = [1, 2, 9, 10, 31, 32, 33, 1_000, 1_000_000, 1 << 39].map(ids.id(ofRecord:))
    #expect(all == all.sorted() && Set(all).count == all.count && all.allSatisfy { $0.count == 26 })
    #expect(try #require(RecordIDs(prefix: ids.prefix)).id(ofRecord: 31) == all[4])
    #expect(RecordIDs() != ids)
    #expect(RecordIDs(prefix: "too short") == nil)
    #expect(RecordIDs(prefix: "ilou56789012345678") == nil)
  }

  @Test func `a state is read as it was written, and a damaged one is told`() throws {
    try TemporaryDirectory.with { directory in
      let path = directory.file("state.json")
      #expect(try ImportState.read(path) == nil)
      var position = ImportState.Position(records: 12, stored: 10, skipped: 2, line: 14)
      let record: [UInt8] = [1, 2, 3]
      position.add(record.span.bytes)
      let state = ImportState(
        file: "/a \"b\"", collection: "é", options: "format csv", ids: RecordIDs(), position: position)
      try state.write(path)
      #expect(try ImportState.read(path) == state)
      let text = try String(contentsOfFile: path, encoding: .utf8)
      for damaged in [
        "", "{}", String(text.dropLast(4)), text.replacing("\"version\":1", with: "\"version\":2"),
        text.replacing("12", with: "-1"),
      ] {
        try Array(damaged.utf8).write(to: path)
        let error = #expect(throws: ToolError.self) { try ImportState.read(path) }
        expectEqual(error?.description.contains("state.json"), true)
      }
      try ImportState.remove(path)
      try ImportState.remove(path)
      #expect(try directory.contents().isEmpty)
    }
  }

  @Test func `a fingerprint tells records and their order apart`() {
    func position(_ records: [[UInt8]]) -> ImportState.Position {
      records.reduce(into: ImportState.Position()) { $0.add($1.span.bytes) }
    }
    let all = [position([[1], [2]]), position([[2], [1]]), position([[1, 2]]), position([[1], [2], []])]
    #expect(Set(all.map(\.fingerprint)).count == all.count)
  }
}
