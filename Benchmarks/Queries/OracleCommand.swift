import ArgumentParser
import BenchmarkSupport
import CRDTCore
import DocStore
import Foundation
import GRDB
import QueryEngine

/// Asks Dunlin and SQLite the same random questions about the same documents, where both mean the same.
struct OracleCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "oracle", abstract: "Compare the answers to random queries with SQLite's.")

  @Option(help: "Queries.")
  var count = 10_000
  @Option(help: "Where the random numbers begin.")
  var seed: UInt64 = 1
  @Option(help: "Queries to each set of documents and indexes.")
  var each = 200
  @Option(help: "The directory for stores.")
  var directory = "/dev/shm"

  func run() throws {
    try Scratch.with(in: directory) { scratch in
      var asked = 0
      var refused = 0
      for round in 0..<max(1, (count + each - 1) / each) {
        var random = SplitMix64(seed: seed &+ UInt64(round))
        let path = scratch.appendingPathComponent("\(round)").path
        let world = try OracleWorld(path, &random)
        defer { world.close() }
        for _ in 0..<min(each, count - asked) {
          let query = OracleQuery(&random)
          switch try world.compare(query) {
          case .same: break
          case .refused: refused += 1
          case .different(let ours, let theirs):
            throw BenchmarkError(
              """
              seed \(seed &+ UInt64(round)), indexes \(world.indexes): the answers differ
              DQL     \(query.dql)
              SQL     \(query.sql)
              Dunlin  \(ours)
              SQLite  \(theirs)
              """)
          }
          asked += 1
        }
      }
      print("\(asked) queries: \(asked - refused) answers are SQLite's, \(refused) are not supported")
    }
  }
}

/// The same documents in both stores.
final class OracleWorld {
  enum Outcome {
    case same, refused
    case different(ours: [String], theirs: [String])
  }

  let indexes: [[String]]
  private let store: Store
  private let engine: Engine
  private let sqlite: DatabaseQueue

  init(_ path: String, _ random: inout SplitMix64) throws {
    store = try Store.open(at: path)
    engine = Engine(
      store: store, parameters: SystemParameters(),
      environment: EngineEnvironment(now: { UInt64(Measures.nanoseconds) }))
    sqlite = try DatabaseQueue()
    var documents: [(id: String, text: String)] = []
    for index in 0..<(20 + random.below(200)) {
      documents.append((String(format: "d%03d", index), Self.document(index, &random)))
    }
    // What they are joined with: keys that some have, many have, and none has.
    let partners = (0..<(5 + random.below(20))).map { index in
      let id = String(format: "u%02d", index)
      return (id: id, text: #"{"_id":"\#(id)","k":\#(random.below(9) - 2),"w":\#(random.below(10))}"#)
    }
    try store.write { transaction in
      for document in documents {
        _ = try transaction.upsert(json: Array(document.text.utf8).span.bytes, into: "t")
      }
      for partner in partners {
        _ = try transaction.upsert(json: Array(partner.text.utf8).span.bytes, into: "u")
      }
    }
    try sqlite.write { database in
      // Both compare texts byte by byte; so must SQLite's LIKE.
      try database.execute(sql: "PRAGMA case_sensitive_like = ON")
      try database.execute(sql: "CREATE TABLE t (id TEXT PRIMARY KEY, json TEXT NOT NULL)")
      for document in documents {
        try database.execute(sql: "INSERT INTO t VALUES (?, ?)", arguments: [document.id, document.text])
      }
      try database.execute(sql: "CREATE TABLE u (id TEXT PRIMARY KEY, json TEXT NOT NULL)")
      for partner in partners {
        try database.execute(sql: "INSERT INTO u VALUES (?, ?)", arguments: [partner.id, partner.text])
      }
    }
    let choices = [["a"], ["b"], ["s"], ["n"], ["o.x"], ["a", "s"], ["n", "b"], ["s", "a", "n"]]
    indexes = choices.filter { _ in random.below(3) == 0 }
    for fields in indexes {
      let definition = IndexDefinition(
        name: fields.joined(separator: "_"), collection: "t",
        fields: fields.map { IndexField($0.split(separator: ".").map { TextKey(String($0)) }) })
      try store.createIndex(definition)
    }
  }

  /// Few values each, so that they meet; nothing is absent, since SQLite does not know MISSING.
  private static func document(_ index: Int, _ random: inout SplitMix64) -> String {
    let words = ["ann", "Ann", "bob", "a", "", "anna", "bo_b", "zoë"]
    let a = random.below(12) - 4
    let b = Double(random.below(40) - 20) / 4
    let n = random.below(3) == 0 ? "null" : String(random.below(6))
    return #"{"_id":"\#(String(format: "d%03d", index))","a":\#(a),"b":\#(b),"s":"\#(random.pick(words))","#
      + #""t":"\#(random.pick(words))","n":\#(n),"o":{"x":\#(random.below(5))}}"#
  }

  func compare(_ query: OracleQuery) throws -> Outcome {
    var ours: [String]
    do {
      ours = try engine.execute(query.dql).rows.map { row in
        let values = try row.values()
        return Answer.row(query.columns.map { DunlinQueries.text(values[$0]) })
      }
    } catch let error as QueryError where error.code == .unsupported {
      return .refused
    }
    var theirs = try sqlite.read { database in
      try Row.fetchAll(database, sql: query.sql).map { row in
        Answer.row(query.columns.indices.map { SQLiteQueries.text(row[$0]) })
      }
    }
    if !query.isOrdered {
      ours.sort()
      theirs.sort()
    }
    return ours == theirs ? .same : .different(ours: ours, theirs: theirs)
  }

  func close() {
    store.close()
    try? sqlite.close()
  }
}
