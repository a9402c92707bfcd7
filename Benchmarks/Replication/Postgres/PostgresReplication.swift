import BenchmarkSupport
import Foundation

/// Two servers with logical replication between them: the initial copy of a table, then changes of one field.
struct PostgresReplication {
  let corpus: Corpus
  let field: String
  let updates: Int

  /// - Returns: Seconds of the initial copy, and of all changes, 1,000 a transaction; `nil` without
  ///   PostgreSQL.
  func run(in parent: URL) throws -> (copy: Double, changes: Double)? {
    guard let programs = PostgresCluster.programs else { return nil }
    let directory = parent.appendingPathComponent("postgres-\(UInt64.random(in: 0...UInt64.max))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let sender = try PostgresCluster(programs, in: directory.appendingPathComponent("sender"))
    defer { sender.stop() }
    let receiver = try PostgresCluster(programs, in: directory.appendingPathComponent("receiver"))
    defer { receiver.stop() }
    for server in [sender, receiver] {
      try server.run("CREATE TABLE documents (id text PRIMARY KEY, document jsonb NOT NULL);")
    }
    let table = directory.appendingPathComponent("table")
    try writeTable(to: table)
    try sender.run("\\copy documents FROM '\(table.path)'")
    try sender.run("CREATE PUBLICATION all_documents FOR TABLE documents;")
    let copy = try copy(from: sender, to: receiver)
    let changes = try change(at: sender)
    try check(sender, receiver)
    try receiver.run("DROP SUBSCRIPTION documents_here;")
    return (copy, changes)
  }

  /// The corpus as the text that COPY reads: id, tabulator, JSON.
  private func writeTable(to file: URL) throws {
    var reader = try CorpusReader(path: corpus.path)
    guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
      throw BenchmarkError("cannot write \(file.path)")
    }
    let handle = try FileHandle(forWritingTo: file)
    defer { try? handle.close() }
    while true {
      let documents = try reader.next(1_000)
      guard !documents.isEmpty else { return }
      var piece = Data()
      for document in documents {
        piece += Data(document.id.utf8) + [9]
        for byte in document.text { piece += byte == UInt8(ascii: "\\") ? [byte, byte] : [byte] }
        piece.append(10)
      }
      try handle.write(contentsOf: piece)
    }
  }

  private func copy(from sender: PostgresCluster, to receiver: PostgresCluster) throws -> Double {
    let start = Measures.nanoseconds
    try receiver.run(
      """
      CREATE SUBSCRIPTION documents_here
        CONNECTION 'host=127.0.0.1 port=\(sender.port) user=bench dbname=postgres' PUBLICATION all_documents;
      """)
    while try receiver.run("SELECT count(*) FROM documents;") != "\(corpus.documents)" { usleep(2_000) }
    let seconds = (Measures.nanoseconds - start) / 1e9
    while try receiver.run("SELECT srsubstate FROM pg_subscription_rel;") != "r" { usleep(10_000) }
    return seconds
  }

  /// Until the receiver has told that all of it is durable there.
  private func change(at sender: PostgresCluster) throws -> Double {
    try sender.run(
      """
      CREATE TEMPORARY TABLE changed AS SELECT id, (row_number() OVER () - 1) / 1000 AS part
        FROM (SELECT id FROM documents LIMIT \(updates)) AS picked;
      """)
    let start = Measures.nanoseconds
    for part in 0..<(updates + 999) / 1_000 {
      try sender.run(
        """
        UPDATE documents AS d SET document = jsonb_set(document, '{\(field)}', to_jsonb(\(2_000_000 + part)))
          FROM changed AS c WHERE c.part = \(part) AND d.id = c.id;
        """)
    }
    let end = try sender.run("SELECT pg_current_wal_lsn();")
    while try sender.run(
      "SELECT confirmed_flush_lsn >= '\(end)' FROM pg_replication_slots WHERE slot_name = 'documents_here';")
      != "t"
    { usleep(2_000) }
    return (Measures.nanoseconds - start) / 1e9
  }

  private func check(_ sender: PostgresCluster, _ receiver: PostgresCluster) throws {
    let digest = "SELECT md5(string_agg(md5(document::text), '' ORDER BY id)) FROM documents;"
    guard try sender.run(digest) == receiver.run(digest) else {
      throw BenchmarkError("PostgreSQL: the servers do not hold the same")
    }
  }
}
