import BenchmarkSupport
import Foundation
import GRDB

/// SQLite through GRDB, as an application would use it: cached statements, documents as their JSON texts.
final class SQLiteQueries: QueryContender {
  private let queue: DatabaseQueue
  private static let batch = 1_000

  init(directory: String, prepares: Bool) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    queue = try DatabaseQueue(path: directory + "/documents.sqlite")
    try queue.writeWithoutTransaction { _ = try String.fetchOne($0, sql: "PRAGMA journal_mode = WAL") }
  }

  func fill(_ collection: FilledCollection) throws {
    try queue.write {
      try $0.execute(sql: "CREATE TABLE \(collection.name) (id TEXT PRIMARY KEY, json TEXT NOT NULL)")
    }
    var reader = try CorpusReader(path: collection.corpus)
    while true {
      let documents = try reader.next(Self.batch)
      if documents.isEmpty { break }
      try queue.write { database in
        let statement = try database.cachedStatement(sql: "INSERT INTO \(collection.name) VALUES (?, ?)")
        for document in documents {
          try statement.execute(arguments: [document.id, String(decoding: document.text, as: UTF8.self)])
        }
      }
    }
    for fields in collection.indexes {
      let keys = fields.map { "json_extract(json, '$.\($0)')" }.joined(separator: ", ")
      let name = ([collection.name] + fields).joined(separator: "_")
      try queue.write { try $0.execute(sql: "CREATE INDEX \(name) ON \(collection.name) (\(keys))") }
    }
  }

  func finish() throws { try queue.write { try $0.execute(sql: "ANALYZE") } }

  private static func arguments(_ query: BenchmarkQuery, _ id: String) -> StatementArguments {
    query.isPoint ? ["id": id] : []
  }

  func run(_ query: BenchmarkQuery, id: String) throws -> Int? {
    guard let sql = query.sql else { return nil }
    return try queue.read { database in
      let statement = try database.cachedStatement(sql: sql)
      let rows = try Row.fetchCursor(statement, arguments: Self.arguments(query, id))
      var count = 0
      while let row = try rows.next() {
        // The last column is the document, or the last figure: it is taken out, as its user would.
        if case .string(let text) = (row[row.count - 1] as DatabaseValue).storage, text.isEmpty { continue }
        count += 1
      }
      return count
    }
  }

  func answer(_ query: BenchmarkQuery, id: String) throws -> [String]? {
    guard let sql = query.sql else { return nil }
    return try queue.read { database in
      try Row.fetchAll(database, sql: sql, arguments: Self.arguments(query, id)).map { row in
        Answer.row(query.columns.indices.map { Self.text(row[$0]) })
      }
    }
  }

  static func text(_ value: DatabaseValue) -> String {
    switch value.storage {
    case .null: "-"
    case .int64(let number): String(number)
    case .double(let number): Answer.number(number)
    case .string(let text): text
    case .blob(let data): data.base64EncodedString()
    }
  }

  func close() throws {
    _ = try queue.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    try queue.close()
  }
}
