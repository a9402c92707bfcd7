import BenchmarkSupport
import Foundation

/// Runs one trial; only what the store does is on the clock.
struct TrialRunner<C: Contender> {
  let trial: Trial
  private var watch = Stopwatch()
  private var result = TrialResult()

  init(_ trial: Trial, _: C.Type) { self.trial = trial }

  mutating func run() async throws -> TrialResult {
    let trial = trial
    let contender = try watch.time { try C(directory: trial.directory, indexes: trial.indexes) }
    switch trial.work {
    case .open: result.figures["seconds"] = watch.seconds
    case .compact:
      watch = Stopwatch()
      try watch.time { try contender.compact() }
      result.figures["seconds"] = watch.seconds
    case .insert: try insert(contender)
    case .read: try read(contender)
    case .update: try update(contender)
    case .commitAlone: try await commit(contender, tasks: 1)
    case .commitTogether: try await commit(contender, tasks: 16)
    }
    try contender.close()
    result.figures["fileBytes"] = Self.fileBytes(trial.directory)
    return result
  }

  private mutating func report(_ name: String, _ count: Int) {
    result.figures[name] = Double(count) / watch.seconds
    result.figures["\(name)-cpu"] = watch.cpuSeconds / Double(count) * 1e9
  }

  private mutating func insert(_ contender: C) throws {
    watch = Stopwatch()
    var reader = try CorpusReader(path: trial.corpus)
    var written = 0
    while written < trial.count {
      let documents = try reader.next(min(trial.batch, trial.count - written))
      guard !documents.isEmpty else { throw BenchmarkError("the corpus is too small") }
      let batch = try contender.prepare(documents)
      try watch.time { try contender.insert(batch) }
      written += documents.count
    }
    report("rate", written)
    guard try contender.count() == written else { throw BenchmarkError("not all documents are there") }
  }

  private mutating func read(_ contender: C) throws {
    let ids = try CorpusReader.ids(path: trial.corpus)
    var random = SplitMix64(seed: 7)
    let keys = try (0..<trial.count).map { _ in try contender.key(ids[random.below(ids.count)]) }
    for (name, oneSnapshot) in [("rate", true), ("eachRate", false)] {
      watch = Stopwatch()
      let bytes = try watch.time { try contender.read(keys, oneSnapshot: oneSnapshot) }
      report(name, keys.count)
      guard bytes > keys.count * 100 else { throw BenchmarkError("too little was read") }
    }
  }

  private mutating func update(_ contender: C) throws {
    var ids = try CorpusReader.ids(path: trial.corpus)
    var random = SplitMix64(seed: 11)
    for index in 0..<trial.count { ids.swapAt(index, index + random.below(ids.count - index)) }
    let keys = try ids.prefix(trial.count).map { try contender.key($0) }
    watch = Stopwatch()
    for start in stride(from: 0, to: keys.count, by: trial.batch) {
      let part = Array(keys[start..<min(start + trial.batch, keys.count)])
      let values = part.indices.map { Int64(10_000 + start + $0) }
      let field = trial.field
      try watch.time { try contender.update(part, field: field, to: values) }
    }
    report("rate", keys.count)
  }

  private mutating func commit(_ contender: C, tasks: Int) async throws {
    var reader = try CorpusReader(path: trial.corpus)
    let documents = try reader.next(trial.count)
    watch = Stopwatch()
    watch.start()
    try await contender.commitEach(documents, tasks: tasks)
    watch.stop()
    report("rate", documents.count)
    guard try contender.count() == documents.count else {
      throw BenchmarkError("not all documents are there")
    }
  }

  private static func fileBytes(_ directory: String) -> Double {
    let names = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
    return names.reduce(0) { sum, name in
      let attributes = try? FileManager.default.attributesOfItem(atPath: directory + "/" + name)
      guard attributes?[.type] as? FileAttributeType == .typeRegular else { return sum }
      return sum + (attributes?[.size] as? NSNumber ?? 0).doubleValue
    }
  }
}
