import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// A store with an engine, as one peer of a case.
final class CasePeer {
  /// Peers' clocks move on together, so that what runs later has the later stamp.
  private static let clock = SharedClock()

  private let path: String
  private let environment: EngineEnvironment
  private(set) var store: Store
  private(set) var engine: Engine

  init(_ path: String, site: UInt64 = 1, environment: EngineEnvironment = .zoned) throws {
    self.path = path
    self.environment = environment
    store = try Self.open(path)
    engine = Engine(store: store, parameters: SystemParameters(), environment: environment)
  }

  private static func open(_ path: String) throws -> Store {
    try Store.open(
      at: path, options: StoreOptions(mapBytes: 64 << 20, now: { clock.next() }, log: { _, _ in }))
  }

  private func reopen() throws {
    store.close()
    store = try Self.open(path)
    engine = Engine(store: store, parameters: SystemParameters(), environment: environment)
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

  /// Everything that a statement can change: documents, indexes and parameters.
  private func content() throws -> [String: [Value]] {
    var content: [String: [Value]] = [:]
    let shown = ["SELECT * FROM system:collections", "SELECT * FROM system:indexes", "SHOW ALL"]
    for statement in shown { content[statement] = try perform(statement, nil, [:]).rows.map { .map($0) } }
    for case .map(let row) in content[shown[0]] ?? [] {
      if case .string(let name) = row["name"] { content[name] = try documents(name) }
    }
    return content
  }

  /// Runs one step and compares what comes of it with what the step expects.
  func run(_ step: [TextKey: Value], of one: QueryCase) throws {
    guard case .string(let statement) = step["stmt"] else { return }
    if statement == "<close and reopen the store>" { return try reopen() }
    var arguments: [TextKey: Value] = [:]
    if case .map(let given) = step["args"] { arguments = given }
    var expectation: [TextKey: Value] = [:]
    if case .map(let given) = step["expect"] { expectation = given }
    if case .string(let message) = expectation["error"] {
      let cause = CaseTables.causes[one.id] ?? Cause(expectation["code"], message)
      return try expectFailure(cause, one.id) { _ = try perform(statement, step["api"], arguments) }
    }
    let (rows, mutated) = try perform(statement, step["api"], arguments)
    if case .array(let expected) = expectation["rows"] {
      let shown = step["api"] == .string("collection.find") ? Self.columns(of: rows, as: expected) : rows
      expectRows(shown.map { .map($0) }, expected, ordered: expectation["ordered"] == .bool(true), one.id)
    }
    if case .array(let expected) = expectation["mutated"] {
      expectRows(mutated, expected, ordered: false, one.id)
    }
    if case .int(let count) = expectation["rowCount"] { expectEqual(rows.count, Int(count), "\(one.id)") }
    if case .array(let keys) = expectation["keysInclude"] {
      for case .string(let key) in keys { expect(rows.first?[key] != nil, "\(one.id)") }
    }
    try expectPlan(rows, expectation, one.id)
  }

  /// What `find` answers, as far as the case tells it: ids alone, or whole documents.
  private static func columns(of rows: [[TextKey: Value]], as expected: [Value]) -> [[TextKey: Value]] {
    let hasOnlyIDs = expected.allSatisfy {
      if case .map(let row) = $0 { Set(row.keys) == ["_id"] } else { false }
    }
    return hasOnlyIDs ? rows.map { $0.filter { $0.key == "_id" } } : rows
  }

  private func expectFailure(_ cause: Cause, _ id: String, _ body: () throws -> Void) throws {
    let before = try content()
    do {
      try body()
      Issue.record("\(id): expected an error with “\(cause.phrase)”")
    } catch let error as QueryError {
      expectEqual(error.code, cause.code, "\(id): \(error.message)")
      let text = ([error.message] + error.expected.map { "expected \($0)" }).joined(separator: "; ")
      expect(text.lowercased().contains(cause.phrase.lowercased()), "\(id): \(text)")
    } catch let error as StoreError {
      expectEqual(error.code.rawValue, cause.code.rawValue, "\(id): \(error)")
      expect(error.message.contains(cause.phrase), "\(id): \(error)")
    }
    try expectEqual(content(), before, "\(id)")
  }

  /// The operators of an EXPLAIN, in order, and the index that one of them uses.
  private func expectPlan(_ rows: [[TextKey: Value]], _ expectation: [TextKey: Value], _ id: String) throws {
    guard expectation["planOperators"] != nil || expectation["index"] != nil else { return }
    guard case .array(let plan) = rows.first?["plan"] else {
      Issue.record("\(id): expected a plan")
      return
    }
    let steps = plan.compactMap { if case .map(let step) = $0 { step } else { nil } }
    if case .array(let operators) = expectation["planOperators"] {
      expectEqual(steps.map { $0["operator"] ?? .null }, operators, "\(id)")
    }
    if let index = expectation["index"] { expect(steps.contains { $0["index"] == index }, "\(id): \(plan)") }
  }

  func perform(
    _ statement: String, _ api: Value?, _ arguments: [TextKey: Value]
  ) throws -> (rows: [[TextKey: Value]], mutated: [Value]) {
    switch api {
    case .string("collection.find"):
      let found = try engine.find(
        collection: "cars", predicate: Builder.parse(statement), arguments: arguments)
      return (try found.map { try $0.values() }, [])
    case .string("sync.registerSubscription"):
      _ = try SubscriptionQuery(
        dql: statement, arguments: arguments, isRestricted: engine.parameters.restrictsSubscriptions)
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

/// Why a statement has to fail: the code of the error, and words that tell the mistake.
struct Cause: Sendable {
  let code: QueryError.Code
  let phrase: String

  init(_ code: QueryError.Code, _ phrase: String) {
    self.code = code
    self.phrase = phrase
  }

  init(_ code: Value?, _ phrase: String) {
    if case .string(let name) = code { self.code = .init(rawValue: name) } else { self.code = .syntax }
    self.phrase = phrase
  }
}
