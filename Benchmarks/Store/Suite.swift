import BenchmarkSupport
import Foundation

/// The trials over one corpus in one place; each round starts with another store, and the stores take turns.
struct Suite {
  let corpus: Corpus
  let place: String
  let directory: URL
  let stores: [ContenderName]
  let isShort: Bool
  /// The field that updates change, which the first index holds.
  let field: String
  let plans: [IndexPlan]

  private func turns(_ round: Int) -> [ContenderName] {
    stores.indices.map { stores[($0 + round) % stores.count] }
  }

  private func trial(
    _ contender: ContenderName, _ work: Trial.Work, _ count: Int, indexes: Int = 0, run: String
  ) throws -> TrialResult {
    try TrialProcess.run(
      Trial(
        contender: contender, work: work, directory: path(contender, run), corpus: corpus.path, count: count,
        field: field, indexes: Array(plans.prefix(indexes))),
      "\(contender.title): \(work.rawValue)")
  }

  private func path(_ contender: ContenderName, _ run: String) -> String {
    directory.appendingPathComponent("\(contender.rawValue)-\(run)").path
  }

  private func remove(_ run: String) throws {
    for store in stores where FileManager.default.fileExists(atPath: path(store, run)) {
      try FileManager.default.removeItem(atPath: path(store, run))
    }
  }

  private func title(_ text: String) -> String { "\(corpus.collection), \(place): \(text)" }

  /// Fills, reads and changes stores without indexes.
  func bulk(_ round: Int, _ comparison: inout Comparison<ContenderName>) throws {
    let count = corpus.documents
    defer { try? remove("bulk") }
    for store in turns(round) {
      let result = try trial(store, .insert, count, run: "bulk")
      comparison.add(title("insert"), store, result["rate"], .perSecond)
      comparison.add(title("insert, CPU"), store, result["rate-cpu"], .nanoseconds)
      comparison.add(
        title("files per document"), store, result["fileBytes"].map { $0 / Double(count) }, .bytes)
      comparison.add(title("insert, anonymous memory"), store, result["anonymousBytes"], .bytes)
      comparison.add(title("insert, peak memory"), store, result["residentBytes"], .bytes)
    }
    for store in turns(round) {
      let result = try trial(store, .read, isShort ? count : 100_000, run: "bulk")
      comparison.add(title("point read, one snapshot"), store, result["rate"], .perSecond)
      comparison.add(title("point read, a snapshot each"), store, result["eachRate"], .perSecond)
      comparison.add(title("point read, anonymous memory"), store, result["anonymousBytes"], .bytes)
    }
    for store in turns(round) {
      let result = try trial(store, .update, min(10_000, count / 2), run: "bulk")
      comparison.add(title("update"), store, result["rate"], .perSecond)
      comparison.add(title("update, CPU"), store, result["rate-cpu"], .nanoseconds)
      comparison.add(title("update, anonymous memory"), store, result["anonymousBytes"], .bytes)
    }
    for store in turns(round) {
      let result = try trial(store, .compact, 0, run: "bulk")
      comparison.add(
        title("files per document, compacted"), store, result["fileBytes"].map { $0 / Double(count) }, .bytes)
      comparison.add(title("compact"), store, result["seconds"], .seconds)
    }
  }

  /// Fills stores with two indexes; changes the indexed field of stores with one.
  func indexed(_ round: Int, _ comparison: inout Comparison<ContenderName>) throws {
    let count = corpus.documents
    let stores = turns(round)
    defer { for run in ["two", "one"] { try? remove(run) } }
    for store in stores {
      let result = try trial(store, .insert, count, indexes: 2, run: "two")
      comparison.add(title("insert, 2 indexes"), store, result["rate"], .perSecond)
      comparison.add(
        title("files per document, 2 indexes"), store, result["fileBytes"].map { $0 / Double(count) }, .bytes)
    }
    try remove("two")
    for store in stores { _ = try trial(store, .insert, count, indexes: 1, run: "one") }
    for store in stores {
      let result = try trial(store, .update, min(10_000, count / 2), indexes: 1, run: "one")
      comparison.add(title("update, 1 index"), store, result["rate"], .perSecond)
    }
  }

  /// Commits one document at a time.
  func commits(_ round: Int, _ comparison: inout Comparison<ContenderName>) throws {
    let works: [(Trial.Work, String, Int)] = [
      (.commitAlone, "commit one, 1 task", 1_000), (.commitTogether, "commit one, 16 tasks", 4_000),
    ]
    for (work, name, count) in works {
      defer { try? remove(work.rawValue) }
      for store in turns(round) {
        let result = try trial(store, work, isShort ? count / 20 : count, run: work.rawValue)
        comparison.add(title(name), store, result["rate"], .perSecond)
      }
    }
    comparison.addRatio(
      title("16 tasks against SQLite's one"), of: title(works[1].1), to: title(works[0].1), .sqlite)
  }

  /// Opens stores that hold many documents.
  func open(rounds: Int, _ comparison: inout Comparison<ContenderName>) throws {
    defer { try? remove("open") }
    for store in stores { _ = try trial(store, .insert, corpus.documents, run: "open") }
    for round in 0..<rounds {
      for store in turns(round) {
        let result = try trial(store, .open, 0, run: "open")
        comparison.add(
          title("open \(corpus.documents.grouped) documents"), store, result["seconds"], .seconds)
        comparison.add(title("open, anonymous memory"), store, result["anonymousBytes"], .bytes)
      }
    }
  }
}
