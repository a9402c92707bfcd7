import BenchmarkSupport
import Foundation

/// Import at one peer, then all of it to another that is empty; then changes of one field, and scans.
struct BulkCase {
  let corpus: Corpus
  let field: String
  let predicate: String
  /// Documents of which one field is changed.
  let updates: Int

  func run(_ report: inout Report, in directory: URL) throws {
    let name = corpus.collection
    let pair = try Pair(in: directory)
    let load = try pair.sender.ask(.load(path: corpus.path, collection: name, batch: 1_000))
    let loadSeconds = try load.figure("seconds")
    let before = try pair.sender.ask(.state(collection: name))
    let pull = try pair.pull(name, count: corpus.documents)
    let sender = try pair.sender.ask(.state(collection: name))
    let receiver = try pair.receiver.ask(.state(collection: name))
    guard sender.words["digest"] == receiver.words["digest"],
      try receiver.figure("documents") == Double(corpus.documents)
    else { throw BenchmarkError("\(name): the peers do not hold the same") }

    let count = Double(corpus.documents)
    let seconds = try pull.figure("pullSeconds")
    report.add("\(name): import, batches of 1,000", count / loadSeconds, .perSecond)
    report.add(
      "\(name): import, CPU per document", try before.figure("cpuSeconds") / count * 1e9, .nanoseconds)
    report.add("\(name): replicate to an empty peer", count / seconds, .perSecond)
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
    try change(pair, &report)
    try scan(pair, &report)
    try pair.quit()
  }

  /// One field of many documents, in large transactions and one by one.
  private func change(_ pair: Pair, _ report: inout Report) throws {
    let name = corpus.collection
    var changes = corpus.documents
    for (perTransaction, words) in [(1_000, "1,000 a transaction"), (1, "one a transaction")] {
      let before = try pair.wireBytes(name)
      let start = Measures.nanoseconds
      try pair.sender.ask(
        .updateField(collection: name, field: field, count: updates, perTransaction: perTransaction))
      changes += updates
      let end = try pair.receiver.ask(.wait(collection: name, changes: changes)).times.first ?? 0
      let bytes = try pair.wireBytes(name) - before
      report.add("\(name): one field changed, \(words), on the wire each", bytes / Double(updates), .bytes)
      report.add("\(name): one field changed, \(words)", Double(updates) / ((end - start) / 1e9), .perSecond)
    }
  }

  private func scan(_ pair: Pair, _ report: inout Report) throws {
    let reply = try pair.receiver.ask(
      .scan(collection: corpus.collection, predicate: predicate, rounds: 7))
    let sorted = reply.times.sorted()
    report.add(
      "\(corpus.collection): scan with \(predicate), per document", sorted[sorted.count / 2], .nanoseconds)
  }
}
