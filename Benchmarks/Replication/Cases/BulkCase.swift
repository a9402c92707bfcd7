import BenchmarkSupport
import Foundation

/// Import at one peer, then all of it to another that is empty; then changes of one field, and scans.
///
/// LMDB, zlib and a socket do the same in the same run, except for the scans. Changes take little time, in
/// which other programs on the machine may slow down only one of the two. So both make them several times, in
/// turns.
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
    let changing = try changeInTurns([raw.changes, ChangedPair(pair, name, corpus)], &report)
    try raw.changes.pair.checkDigests(corpus)
    try raw.changes.pair.quit()
    if let postgres {
      report.add(
        "\(name): one field changed, 1,000 a transaction, time by that of PostgreSQL",
        changing / postgres.changes, .times)
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
  /// - Returns: Seconds of the pull, and the pair to change.
  private func runRaw(
    _ report: inout Report, in directory: URL
  ) throws -> (pull: Double, changes: ChangedPair) {
    let name = "\(corpus.collection), raw LMDB over TCP"
    let pair = try Pair(.raw, in: directory)
    try pair.sender.ask(.load(path: corpus.path, collection: corpus.collection, batch: 1_000))
    let pull = try pair.pull(corpus.collection, count: corpus.documents)
    let sent = try pair.wireBytes(corpus.collection)
    report.add("\(name): on the wire, per document", sent / Double(corpus.documents), .bytes)
    report.add(
      "\(name): seconds until 100 documents are readable", try pull.figure("first100Seconds"), .seconds)
    return (try pull.figure("pullSeconds"), ChangedPair(pair, name, corpus))
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
  private static let turns = 5

  /// Changes one field of many documents, in large transactions and one by one, at pairs that take turns.
  ///
  /// - Parameters:
  ///   - pairs: The one to compare with, and ours; a different one goes first each time.
  ///   - report: Takes the figures of both.
  /// - Returns: The median of our seconds with large transactions.
  /// - Throws: What a peer reports.
  private func changeInTurns(_ pairs: [ChangedPair], _ report: inout Report) throws -> Double {
    var ours: [Double] = []
    for turn in 0..<Self.turns {
      for (size, words) in Self.transactions {
        var seconds: [Double] = [0, 0]
        for index in turn.isMultiple(of: 2) ? [0, 1] : [1, 0] {
          seconds[index] = try pairs[index].change(field, of: updates, size, words, &report)
        }
        report.add(
          "\(corpus.collection): one field changed, \(words), time by that of raw LMDB",
          seconds[1] / seconds[0], .times)
        if size > 1 { ours.append(seconds[1]) }
      }
    }
    return ours.sorted()[ours.count / 2]
  }

  private func scan(_ pair: Pair, _ report: inout Report) throws {
    let reply = try pair.receiver.ask(
      .scan(collection: corpus.collection, predicate: predicate, rounds: 7))
    let sorted = reply.times.sorted()
    report.add(
      "\(corpus.collection): scan with \(predicate), per document", sorted[sorted.count / 2], .nanoseconds)
  }
}

/// A pair in sync, the sender of which changes documents.
private final class ChangedPair {
  let pair: Pair
  private let name: String
  private let collection: String
  /// Documents that have come to the receiver, and changes.
  private var arrived: Int

  init(_ pair: Pair, _ name: String, _ corpus: Corpus) {
    self.pair = pair
    self.name = name
    collection = corpus.collection
    arrived = corpus.documents
  }

  /// - Returns: Seconds from the first change to the last one's arrival.
  func change(
    _ field: String, of count: Int, _ perTransaction: Int, _ words: String, _ report: inout Report
  ) throws -> Double {
    let before = try pair.wireBytes(collection)
    let reply = try pair.sender.ask(
      .updateField(collection: collection, field: field, count: count, perTransaction: perTransaction))
    let start = reply.times.first ?? 0
    arrived += count
    let end = try pair.receiver.ask(.wait(collection: collection, changes: arrived)).times.first ?? 0
    let bytes = try pair.wireBytes(collection) - before
    let seconds = (end - start) / 1e9
    report.add("\(name): one field changed, \(words), on the wire each", bytes / Double(count), .bytes)
    report.add("\(name): one field changed, \(words)", Double(count) / seconds, .perSecond)
    return seconds
  }
}
