import ArgumentParser
import BenchmarkSupport
import Foundation

/// One contender in a process of its own: it fills a store, or answers all questions of one.
struct QueryTrial: Codable {
  var contender: QueryContenderName
  var directory: String
  /// What to fill; empty: the store is full, and is asked.
  var filling: [FilledCollection] = []
  var place = BenchmarkQuery.Place.scan
  /// Where ids for point queries come from.
  var corpus: String
  var prefix: String
  /// How long each question is asked again, in seconds.
  var seconds: Double

  func run() throws -> TrialResult {
    switch contender {
    case .lmdb: try run(RawLMDBQueries(directory: directory, prepares: false))
    case .sqlite: try run(SQLiteQueries(directory: directory, prepares: true))
    case .prepared: try run(DunlinQueries(directory: directory, prepares: true))
    case .dunlin: try run(DunlinQueries(directory: directory, prepares: false))
    }
  }

  private func run(_ contender: some QueryContender) throws -> TrialResult {
    var result = TrialResult()
    for collection in filling { try contender.fill(collection) }
    if filling.isEmpty {
      let ids = try CorpusReader.ids(path: corpus)
      for query in BenchmarkQuery.all(prefix: prefix) where query.places.contains(place) {
        try measure(query, contender, ids, &result)
      }
    } else {
      try contender.finish()
    }
    try contender.close()
    return result
  }

  private func measure(
    _ query: BenchmarkQuery, _ contender: some QueryContender, _ ids: [String], _ result: inout TrialResult
  ) throws {
    guard let rows = try contender.run(query, id: ids[0]) else { return }
    result.answers["\(query.name), rows"] = String(rows)
    if let answer = try contender.answer(query, id: ids[0]) {
      result.answers[query.name] = Answer.summary(answer, isOrdered: query.isOrdered)
    }
    var random = SplitMix64(seed: 7)
    var samples: [Double] = []
    let end = Measures.nanoseconds + seconds * 1e9
    repeat {
      let id = ids[random.below(ids.count)]
      let start = Measures.nanoseconds
      let found = try contender.run(query, id: id)
      samples.append(Measures.nanoseconds - start)
      guard found == rows else { throw BenchmarkError("\(query.name): other rows than before") }
    } while samples.count < 3 || (Measures.nanoseconds < end && samples.count < 100_000)
    samples.sort()
    result.figures[query.name] = samples[samples.count / 2] / 1e9
  }
}

/// The process of one trial: reads what to do from its argument and prints what it found.
struct TrialCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "trial", shouldDisplay: false)

  @Argument var description: String

  func run() throws {
    try JSONDecoder().decode(QueryTrial.self, from: Data(description.utf8)).run().print()
  }
}
