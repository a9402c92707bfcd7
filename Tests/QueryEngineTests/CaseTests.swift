import CRDTCore
import DocStore
import Foundation
import QueryEngine
import TestKit
import Testing

/// Runs the query cases, statement by statement, on a store.
@Suite struct CaseTests {
  /// Cases of what this engine does not do, each with the reason.
  static let skipped: [String: String] = [
    "B117": "dates", "B118": "dates", "B120": "dates", "B127": "ANY", "B129": "ANY", "B133": "OBJECT FOR",
    "C05": "aggregates", "C06": "aggregates", "C09": "aggregates", "C14": "GROUP BY", "C15": "GROUP BY",
    "C21": "aggregates",
    "D31": "a document above the hard limit is stored and never sent: our choice",
    "E30": "strict mode", "E31": "strict mode", "G01": "strict mode",
    "G11": "strict mode",
    "H02": "joins", "H03": "joins", "H06": "joins",
    "K10": "the case is told in prose", "K18": "the case is told in prose", "K21": "declared types",
    "K22": "the case is told in prose", "K24": "the case is told in prose",
    "L27": "the facade's", "L29": "the facade's", "L31": "the facade's", "L32": "the facade's",
    "L34": "the facade's", "M03": "the big peer's", "M08": "the big peer's", "M09": "the big peer's",
    "M10": "the big peer's", "M11": "the big peer's", "I11": "LIMIT in subscriptions",
  ]

  @Test(arguments: try QueryCase.all()) func `comes out as written`(_ one: QueryCase) throws {
    guard Self.skipped[one.id] == nil else { return }
    try TemporaryDirectory.with { directory in
      if one.members["A"] != nil {
        try one.runMerge(in: directory)
      } else {
        let peer = try CasePeer(directory.file("store"))
        defer { peer.store.close() }
        for collection in one.strings("fixtures") { try peer.load(collection) }
        for step in one.steps { try peer.run(step, "\(one.id)") }
      }
    }
  }

  @Test func `every skipped case exists`() throws {
    let known = Set(try QueryCase.all().map(\.id))
    #expect(Set(Self.skipped.keys).isSubset(of: known))
  }
}

/// One line of the file of cases.
struct QueryCase: Sendable, CustomTestStringConvertible {
  let id: String
  let members: [String: Value]

  var testDescription: String { id }

  var steps: [[String: Value]] {
    guard case .array(let steps) = members["steps"] else { return [members] }
    return steps.compactMap { if case .map(let step) = $0 { step } else { nil } }
  }

  func strings(_ name: String) -> [String] {
    guard case .array(let elements) = members[name] else { return [] }
    return elements.compactMap { if case .string(let text) = $0 { text } else { nil } }
  }

  static func all() throws -> [QueryCase] {
    try lines("cases").map { members in
      guard case .string(let id) = members["id"] else { throw CocoaError(.fileReadCorruptFile) }
      return QueryCase(id: id, members: members)
    }
  }

  static func lines(_ file: String) throws -> [[String: Value]] {
    let url = try #require(
      Bundle.module.url(forResource: file, withExtension: "jsonl", subdirectory: "Cases"))
    return try String(contentsOf: url, encoding: .utf8).split(separator: "\n").compactMap { line in
      if case .map(let members) = try JSON.parse(String(line)) { members } else { nil }
    }
  }

  /// Both peers hold `start`, run their statements apart in the order named, then exchange everything.
  func runMerge(in directory: TemporaryDirectory) throws {
    let a = try CasePeer(directory.file("a"), site: 1)
    let b = try CasePeer(directory.file("b"), site: 2)
    defer {
      a.store.close()
      b.store.close()
    }
    if case .map(var start) = members["start"] {
      for (key, value) in start {
        if case .string(let text) = value, text.hasPrefix("counter "), let sum = Int64(text.dropFirst(8)) {
          start[key] = .counter(sum)
        }
      }
      let document = start
      _ = try a.store.write { try $0.upsert(document, into: "t") }
      try b.receive(from: a)
    }
    let turns = members["order"] == .string("B then A") ? [(b, "B"), (a, "A")] : [(a, "A"), (b, "B")]
    for (peer, name) in turns {
      for statement in strings(name) { _ = try peer.engine.execute(statement) }
    }
    try a.receive(from: b)
    try b.receive(from: a)
    try a.receive(from: b)
    let expected: [Value] = members["converged"].map { $0 == .null ? [] : [$0] } ?? []
    for peer in [a, b] { expectRows(try peer.documents("t"), expected, ordered: true, id) }
  }
}

/// A store with an engine, as one peer of a case.
final class CasePeer {
  /// Peers' clocks move on together, so that what runs later has the later stamp.
  private static let clock = SharedClock()

  let store: Store
  let engine: Engine

  init(_ path: String, site: UInt64 = 1) throws {
    store = try Store.open(
      at: path, options: StoreOptions(mapBytes: 64 << 20, now: { Self.clock.next() }, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
  }

  func load(_ collection: String) throws {
    for fixture in try QueryCase.lines("fixtures") where fixture["collection"] == .string(collection) {
      guard case .array(let documents) = fixture["documents"] else { continue }
      _ = try store.write { transaction in
        for case .map(let document) in documents { try transaction.upsert(document, into: collection) }
      }
    }
  }

  /// Takes over all documents of another peer, deletions included.
  func receive(from other: CasePeer) throws {
    var documents: [(DocumentID, [UInt8])] = []
    try other.store.read { transaction in
      guard let collection = try transaction.collection("t") else { return }
      let tables = RecordTables(keys: collection.keys, sites: transaction.sites)
      try transaction.forEachRecord(in: collection) { id, _, record in
        var writer = ByteWriter()
        try WireDocument.append(record, lacking: VersionVector(), tables: tables, to: &writer)
        documents.append((try DocumentID(validating: id), writer.bytes))
        return true
      }
    }
    _ = try store.write { transaction in
      for (id, wire) in documents { _ = try transaction.merge(wire: wire.span.bytes, id: id, in: "t") }
    }
  }

  func documents(_ collection: String) throws -> [Value] {
    try engine.find(collection: collection).map { .map(try $0.values()) }
  }

  func run(_ step: [String: Value], _ comment: String) throws {
    guard case .string(let statement) = step["stmt"] else { return }
    var arguments: [String: Value] = [:]
    if case .map(let given) = step["args"] { arguments = given }
    var expect: [String: Value] = [:]
    if case .map(let given) = step["expect"] { expect = given }
    if expect["error"] != nil {
      let before = try engine.execute("SELECT * FROM system:collections").rows.map { try $0.values() }
      #expect(throws: (any Error).self, "\(comment)") { try perform(statement, step["api"], arguments) }
      let after = try engine.execute("SELECT * FROM system:collections").rows.map { try $0.values() }
      #expect(before == after, "\(comment)")
      return
    }
    let (rows, mutated) = try perform(statement, step["api"], arguments)
    if case .array(let expected) = expect["rows"] {
      let shown =
        step["api"] == .string("collection.find") ? rows.map { Value.map(["_id": $0["_id"] ?? .null]) } : nil
      expectRows(shown ?? rows.map { .map($0) }, expected, ordered: expect["ordered"] == .bool(true), comment)
    }
    if case .array(let expected) = expect["mutated"] {
      expectRows(mutated, expected, ordered: false, comment)
    }
    if case .int(let count) = expect["rowCount"] { #expect(rows.count == Int(count), "\(comment)") }
    if case .array(let keys) = expect["keysInclude"] {
      for case .string(let key) in keys { #expect(rows.first?[key] != nil, "\(comment)") }
    }
  }

  @discardableResult
  private func perform(
    _ statement: String, _ api: Value?, _ arguments: [String: Value]
  ) throws -> (rows: [[String: Value]], mutated: [Value]) {
    switch api {
    case .string("collection.find"):
      return (
        try engine.find(collection: "cars", predicate: Builder.parse(statement)).map { try $0.values() }, []
      )
    case .string("sync.registerSubscription"):
      _ = try SubscriptionQuery(dql: statement, arguments: arguments)
      return ([], [])
    case .string("store.registerObserver"):
      _ = try LiveQuery(dql: statement, arguments: arguments)
      return ([], [])
    default:
      let result = try engine.execute(statement, arguments: arguments)
      return (try result.rows.map { try $0.values() }, result.mutatedDocumentIDs.map(\.value))
    }
  }
}

/// Compares rows, where integers and doubles are the same by value; `ordered: false` compares multisets.
func expectRows(_ rows: [Value], _ expected: [Value], ordered: Bool, _ comment: String) {
  var (rows, expected) = (rows, expected)
  if !ordered {
    rows.sort { SortOrder.compare($0, $1) < 0 }
    expected.sort { SortOrder.compare($0, $1) < 0 }
  }
  #expect(
    SortOrder.compare(.array(rows), .array(expected)) == 0, "\(comment): \(JSON.text(of: .array(rows)))")
}
