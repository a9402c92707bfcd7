import CRDTCore
import QueryEngine
import TestKit
import Testing

@Suite struct ExecRecordMatcherTests {
  /// A fresh record of these fields, in tables that go on growing.
  private func record(_ fields: [TextKey: Value], _ tables: inout RecordTables) throws -> Record {
    let stamping = Stamping(site: SiteID(high: 1, low: 2), reading: ClockReading(rawValue: 1 << 20))
    let encoded = try DocumentCodec.upsert(
      fields, strategy: .merge, existing: nil, stamping: stamping, tables: &tables)
    return Record(bytes: try #require(encoded).record)
  }

  @Test(arguments: 0..<40)
  func `answers in place what the evaluator answers on values`(seed: UInt64) throws {
    var queries = RandomQueries(seed: seed)
    var tables = RecordTables()
    var documents: [(id: DocumentID, fields: [TextKey: Value], record: Record)] = []
    for _ in 0..<40 {
      let fields = queries.document()
      documents.append((try DocumentID(queries.id()), fields, try record(fields, &tables)))
    }
    for _ in 0..<120 {
      let predicate = queries.predicate(depth: 3)
      var matcher = try RecordMatcher(predicate)
      matcher.resolve(tables.keys)
      for document in documents {
        var whole = document.fields
        whole["_id"] = document.id.value
        let expected = try Evaluator.matches(predicate, row: { Value.map(whole).value(at: $0) })
        let answer = document.record.withView { matcher.matches(document.id.bytes.span.bytes, $0) }
        expectEqual(answer, expected, "\(predicate) on \(whole)")
      }
    }
  }

  @Test func `finds a field that the collection learned after the matcher was made`() throws {
    var tables = RecordTables()
    let first = try record(["a": .int(1)], &tables)
    var matcher = try RecordMatcher(.binary(.equal, .path([.key("z")]), .literal(.int(5))))
    let id = try DocumentID("x").bytes
    matcher.resolve(tables.keys)
    #expect(!first.withView { matcher.matches(id.span.bytes, $0) })
    let second = try record(["z": .int(5)], &tables)
    matcher.resolve(tables.keys)
    #expect(second.withView { matcher.matches(id.span.bytes, $0) })
  }

  @Test func `accepts every document when there is no predicate`() throws {
    var tables = RecordTables()
    let document = try record([:], &tables)
    let matcher = try RecordMatcher(nil)
    let id = try DocumentID("x").bytes
    #expect(document.withView { matcher.matches(id.span.bytes, $0) })
  }

  @Test func `refuses a predicate whose parameter has no argument`() {
    #expect { try RecordMatcher(.binary(.equal, .path([.key("a")]), .parameter("p"))) } throws: { error in
      (error as? QueryError)?.code == .argument
    }
  }

  @Test func `looks up long lists by search`() throws {
    var tables = RecordTables()
    let list = (0..<1_000).map { Value.int(Int64($0 * 2)) }
    var matcher = try RecordMatcher(
      .in(.path([.key("n")]), .parameter("list"), negated: false), arguments: ["list": .array(list)])
    let id = try DocumentID("x").bytes
    for number in [-1, 0, 1, 998, 999, 1_998, 1_999, 2_000] {
      let document = try record(["n": .int(Int64(number))], &tables)
      matcher.resolve(tables.keys)
      expectEqual(
        document.withView { matcher.matches(id.span.bytes, $0) }, number % 2 == 0 && (0..<2_000) ~= number)
    }
  }
}
