import BenchmarkSupport
import Foundation
import GRDB

/// SQLite through GRDB, as an application would use it: a pool in WAL mode, a JSON column, cached statements.
final class SQLiteContender: Contender {
  private let pool: DatabasePool

  struct Row: Sendable {
    let id: String
    let text: String
  }

  init(directory: String, indexes: [IndexPlan]) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    pool = try DatabasePool(path: directory + "/documents.sqlite")
    try pool.writeWithoutTransaction { database in
      // The library sets NORMAL when it opens, which is not durable at commit. So it is set here, and read
      // back.
      try database.execute(sql: "PRAGMA synchronous = FULL")
      guard try Int.fetchOne(database, sql: "PRAGMA synchronous") == 2,
        try String.fetchOne(database, sql: "PRAGMA journal_mode") == "wal"
      else { throw BenchmarkError("SQLite is not in the mode that is to be measured") }
      try database.execute(
        sql: "CREATE TABLE IF NOT EXISTS documents (id TEXT PRIMARY KEY, json TEXT NOT NULL)")
      for index in indexes {
        let fields = index.fields.map { "json_extract(json, '$.\($0)')" }.joined(separator: ", ")
        try database.execute(sql: "CREATE INDEX IF NOT EXISTS \(index.name) ON documents (\(fields))")
      }
    }
  }

  func prepare(_ documents: [CorpusDocument]) -> [Row] {
    documents.map { Row(id: $0.id, text: String(decoding: $0.text, as: UTF8.self)) }
  }

  func key(_ id: String) -> String { id }

  func insert(_ batch: [Row]) throws {
    try pool.write { database in
      let statement = try Self.insertion(database)
      for row in batch { try statement.execute(arguments: [row.id, row.text]) }
    }
  }

  func commitEach(_ documents: [CorpusDocument], tasks: Int) async throws {
    let rows = prepare(documents)
    if tasks == 1 {
      for row in rows { try insert([row]) }
      return
    }
    let pool = pool
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask {
          for index in stride(from: task, to: rows.count, by: tasks) {
            let row = rows[index]
            try await pool.write { database in
              try Self.insertion(database).execute(arguments: [row.id, row.text])
            }
          }
        }
      }
      try await group.waitForAll()
    }
  }

  func read(_ keys: [String], oneSnapshot: Bool) throws -> Int {
    let sql = "SELECT json FROM documents WHERE id = ?"
    var bytes = 0
    func fetch(_ key: String, _ database: Database) throws {
      guard let text = try String.fetchOne(try database.cachedStatement(sql: sql), arguments: [key]) else {
        throw BenchmarkError("a document is missing")
      }
      bytes += text.utf8.count
    }
    if oneSnapshot {
      try pool.read { database in for key in keys { try fetch(key, database) } }
    } else {
      for key in keys { try pool.read { try fetch(key, $0) } }
    }
    return bytes
  }

  func update(_ keys: [String], field: String, to values: [Int64]) throws {
    try pool.write { database in
      let statement = try database.cachedStatement(
        sql: "UPDATE documents SET json = json_set(json, '$.\(field)', ?) WHERE id = ?")
      for (key, value) in zip(keys, values) { try statement.execute(arguments: [value, key]) }
    }
  }

  func count() throws -> Int {
    try pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM documents") ?? 0 }
  }

  func compact() throws { try pool.writeWithoutTransaction { try $0.execute(sql: "VACUUM") } }

  func close() throws {
    _ = try pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    try pool.close()
  }

  private static func insertion(_ database: Database) throws -> Statement {
    try database.cachedStatement(sql: "INSERT INTO documents (id, json) VALUES (?, ?)")
  }
}
