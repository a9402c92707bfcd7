import BenchmarkSupport
import Foundation

/// Import at one peer, then all of it to another that is empty; then changes of one field, and scans.
///
/// LMDB, zlib and a socket do the same in the same round, but for the scans.
struct BulkCase {
  let corpus: Corpus
  let field: String
  let predicate: String
  /// Documents of which one field is changed.
  let updates: Int
  /// Whether PostgreSQL, where there is one, does the same.
  var withPostgres = false

  func run(_ report: inout Report, in directory: URL) throws {
    // What is compared more closely stands side by side.
    let postgres = withPostgres ? try runPostgres(&report, in: directory) : nil
    let raw = try runRaw(&report, in: directory)
    let name = corpus.collection
    let pair = try Pair(in: directory)
    let load = try pair.sender.ask(.load(path: corpus.path, collection: name, batch: 1_000))
    let loadSeconds = try load.figure("seconds")
    let before = try pair.sender.ask(.state(collection: name))
    let pull = try pair.pull(name, count: corpus.documents)
    let sender = try pair.sender.ask(.state(collection: name))
    let receiver = try pair.receiver.ask(.state(collection: name))
    try pair.checkDigests(corpus)

    let count = Double(corpus.documents)
    let seconds = try pull.figure("pullSeconds")
    report.add("\(name): import, batches of 1,000", count / loadSeconds, .perSecond)
    report.add(
      "\(name): import, CPU per document", try before.figure("cpuSeconds") / count * 1e9, .nanoseconds)
    report.add("\(name): replicate to an empty peer", count / seconds, .perSecond)
    report.add("\(name): replicate, raw LMDB over TCP", count / raw.pull, .perSecond)
    report.add("\(name): replicate, rate by that of raw LMDB", raw.pull / seconds, .times)
    if let postgres {
      report.add(
        "\(name): replicate, rate by that of PostgreSQL's initial copy", postgres.copy / seconds, .times)
    }
    report.add("\(name): JSON replicated", Double(corpus.jsonBytes) / seconds, .bytesPerSecond)
    report.add(
      "\(name): seconds until 100 documents are readable", try pull.figure("first100Seconds"), .seconds)
    report.add("\(name): seconds until all are readable", seconds, .seconds)
    let sent = try sender.figure("bytesSent")
    let answered = try sender.figure("bytesReceived")
    report.add("\(name): JSON", Double(corpus.jsonBytes), .bytes)
    report.add("\(name): on the wire, before compression", try sender.figure("plainBytesSent"), .bytes)
    report.add("\(name): on the wire, sent", sent, .bytes)
    report.add("\(name): on the wire, answered", answered, .bytes)
    report.add("\(name): on the wire, per document", sent / count, .bytes)
    report.add("\(name): JSON, per document", Double(corpus.jsonBytes) / count, .bytes)
    report.add("\(name): record, per document", try receiver.figure("recordBytes") / count, .bytes)
    report.add("\(name): store's files, per document", try receiver.figure("fileBytes") / count, .bytes)
    report.add(
      "\(name): sender's CPU", try sender.figure("cpuSeconds") - before.figure("cpuSeconds"), .seconds)
    report.add("\(name): receiver's CPU", try receiver.figure("cpuSeconds"), .seconds)
    report.add("\(name): sender's peak memory", try sender.figure("peakResidentBytes"), .bytes)
    report.add("\(name): receiver's peak memory", try receiver.figure("peakResidentBytes"), .bytes)
    report.add("\(name): sender's memory without mapped pages", try sender.figure("anonymousBytes"), .bytes)
    report.add(
      "\(name): receiver's memory without mapped pages", try receiver.figure("anonymousBytes"), .bytes)
    let changing = try change(pair, corpus.collection, &report)
    for (index, words) in Self.transactions.map(\.words).enumerated() {
      report.add(
        "\(name): one field changed, \(words), time by that of raw LMDB",
        changing[index] / raw.changes[index], .times)
    }
    if let postgres {
      report.add(
        "\(name): one field changed, 1,000 a transaction, time by that of PostgreSQL",
        changing[0] / postgres.changes, .times)
    }
    try scan(pair, &report)
    try pair.quit()
    try runPacked(&report, raw: raw.pull, in: directory)
  }

  /// The first sync again, packed as over a network.
  private func runPacked(_ report: inout Report, raw: Double, in directory: URL) throws {
    let name = "\(corpus.collection), packed"
    let pair = try Pair(level: 1, in: directory)
    try pair.sender.ask(.load(path: corpus.path, collection: corpus.collection, batch: 1_000))
    let seconds = try pair.pull(corpus.collection, count: corpus.documents).figure("pullSeconds")
    try pair.checkDigests(corpus)
    report.add("\(name): replicate to an empty peer", Double(corpus.documents) / seconds, .perSecond)
    report.add("\(name): replicate, rate by that of raw LMDB", raw / seconds, .times)
    let sent = try pair.wireBytes(corpus.collection)
    report.add("\(name): on the wire, both ways", sent, .bytes)
    try pair.quit()
  }

  /// The same by LMDB, zlib and a socket.
  ///
  /// - Returns: Seconds of the pull, and of all changes in each size of transaction.
  private func runRaw(_ report: inout Report, in directory: URL) throws -> (pull: Double, changes: [Double]) {
    let name = "\(corpus.collection), raw LMDB over TCP"
    let pair = try Pair(.raw, in: directory)
    try pair.sender.ask(.load(path: corpus.path, collection: corpus.collection, batch: 1_000))
    let pull = try pair.pull(corpus.collection, count: corpus.documents)
    let sent = try pair.wireBytes(corpus.collection)
    report.add("\(name): on the wire, per document", sent / Double(corpus.documents), .bytes)
    report.add(
      "\(name): seconds until 100 documents are readable", try pull.figure("first100Seconds"), .seconds)
    let changes = try change(pair, name, &report)
    try pair.checkDigests(corpus)
    try pair.quit()
    return (try pull.figure("pullSeconds"), changes)
  }

  private func runPostgres(
    _ report: inout Report, in directory: URL
  ) throws -> (copy: Double, changes: Double)? {
    let contender = PostgresReplication(corpus: corpus, field: field, updates: updates)
    guard let seconds = try contender.run(in: directory) else {
      try? FileHandle.standardError.write(
        contentsOf: Data("PostgreSQL is not installed, so nothing is compared with it\n".utf8))
      return nil
    }
    let name = "\(corpus.collection), PostgreSQL"
    report.add("\(name): initial copy", Double(corpus.documents) / seconds.copy, .perSecond)
    report.add(
      "\(name): one field changed, 1,000 a transaction", Double(updates) / seconds.changes, .perSecond)
    return seconds
  }

  private static let transactions = [
    (size: 1_000, words: "1,000 a transaction"), (size: 1, words: "one a transaction"),
  ]

  /// One field of many documents, in large transactions and one by one.
  ///
  /// - Returns: Seconds of each.
  private func change(_ pair: Pair, _ name: String, _ report: inout Report) throws -> [Double] {
    let collection = corpus.collection
    var changes = corpus.documents
    var seconds: [Double] = []
    for (perTransaction, words) in Self.transactions {
      let before = try pair.wireBytes(collection)
      let reply = try pair.sender.ask(
        .updateField(collection: collection, field: field, count: updates, perTransaction: perTransaction))
      let start = reply.times.first ?? 0
      changes += updates
      let end = try pair.receiver.ask(.wait(collection: collection, changes: changes)).times.first ?? 0
      let bytes = try pair.wireBytes(collection) - before
      report.add("\(name): one field changed, \(words), on the wire each", bytes / Double(updates), .bytes)
      seconds.append((end - start) / 1e9)
      report.add("\(name): one field changed, \(words)", Double(updates) / ((end - start) / 1e9), .perSecond)
    }
    return seconds
  }

  private func scan(_ pair: Pair, _ report: inout Report) throws {
    let reply = try pair.receiver.ask(
      .scan(collection: corpus.collection, predicate: predicate, rounds: 7))
    let sorted = reply.times.sorted()
    report.add(
      "\(corpus.collection): scan with \(predicate), per document", sorted[sorted.count / 2], .nanoseconds)
  }
}
