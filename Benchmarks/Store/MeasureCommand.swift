import ArgumentParser
import BenchmarkSupport
import Foundation

struct MeasureCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "measure", abstract: "Run the measurements.")

  enum CorpusName: String, ExpressibleByArgument, CaseIterable { case orders, flights }
  enum Case: String, ExpressibleByArgument, CaseIterable { case bulk, indexed, commits, open }
  enum Place: String, ExpressibleByArgument, CaseIterable { case memory, disk }

  @Option(help: "Documents.")
  var count = 100_000
  @Option(help: "Rounds; in each every store has its turn, and the medians count.")
  var rounds = 3
  @Option(help: "A directory on a memory file system.")
  var memory = "/dev/shm"
  @Option(help: "A directory on a disk; by default that of this program.")
  var disk = Bundle.main.executableURL?.deletingLastPathComponent().path ?? "."
  @Option(name: .customLong("place"), help: "Where to measure; both by default: memory, disk.")
  var places: [Place] = []
  @Option(name: .customLong("corpus"), help: "Which documents; both by default: orders, flights.")
  var corpora: [CorpusName] = []
  @Option(name: .customLong("case"), help: "What to measure; all by default: bulk, indexed, commits, open.")
  var cases: [Case] = []
  @Option(name: .customLong("store"), help: "Which stores; all by default: lmdb, sqlite, dunlin.")
  var stores: [ContenderName] = []
  @Option(help: "Flights as JSON lines, plain or gzip; repeated with ids of their own when too few.")
  var flights = "Tools/dunlin/Sample/flights.jsonl.gz"
  @Option(help: "Documents of the store whose opening is measured.")
  var openCount = 1_000_000
  @Option(help: "A directory for charts, as SVG and JSON.")
  var charts: String?
  @Flag(help: "Small counts and one round: for a check, not for figures.")
  var short = false
  @Flag(help: "Print every sample as JSON.")
  var json = false

  func run() async throws {
    var comparison = Comparison<ContenderName>(of: .dunlin, to: [.lmdb, .sqlite])
    for place in places.isEmpty ? Place.allCases : places {
      let parent = place == .memory ? memory : disk
      guard FileManager.default.fileExists(atPath: parent) else {
        Self.say("\(parent) is not there: left out")
        continue
      }
      try Scratch.with(in: parent) { try measure(place, $0, &comparison) }
    }
    if let charts {
      for place in places.isEmpty ? Place.allCases : places {
        try StoreCharts.write(comparison, of: place.rawValue, into: URL(filePath: charts))
      }
    }
    print(json ? try comparison.json() : comparison.table)
  }

  private func measure(_ place: Place, _ scratch: URL, _ comparison: inout Comparison<ContenderName>) throws {
    let count = short ? min(count, 4_000) : count
    let cases = cases.isEmpty ? Case.allCases : cases
    for name in corpora.isEmpty ? CorpusName.allCases : corpora {
      let corpus: Corpus =
        switch name {
        case .orders: try .orders(count, in: scratch)
        case .flights: try .flights(count, from: flights, in: scratch)
        }
      let suite = Suite(
        corpus: corpus, place: place.rawValue, directory: scratch,
        stores: stores.isEmpty ? ContenderName.allCases : stores, isShort: short,
        field: name == .orders ? "amount" : "distance", plans: Self.indexes(name))
      for round in 0..<(short ? 1 : max(rounds, 1)) {
        Self.say("\(name.rawValue) on \(place.rawValue), round \(round + 1)")
        if cases.contains(.bulk) { try suite.bulk(round, &comparison) }
        if cases.contains(.indexed) { try suite.indexed(round, &comparison) }
        if cases.contains(.commits), name == .orders { try suite.commits(round, &comparison) }
      }
      try FileManager.default.removeItem(atPath: corpus.path)
    }
    if cases.contains(.open) {
      let corpus = try Corpus.flights(short ? 4_000 : openCount, from: flights, in: scratch)
      let suite = Suite(
        corpus: corpus, place: place.rawValue, directory: scratch,
        stores: stores.isEmpty ? ContenderName.allCases : stores, isShort: short, field: "", plans: [])
      try suite.open(rounds: short ? 1 : max(rounds, 1), &comparison)
      try FileManager.default.removeItem(atPath: corpus.path)
    }
  }

  /// An order by status and amount, and one by time, or what corresponds.
  private static func indexes(_ name: CorpusName) -> [IndexPlan] {
    switch name {
    case .orders:
      [
        IndexPlan(name: "byStatus", fields: ["status", "amount"]),
        IndexPlan(name: "byCreation", fields: ["createdAt"]),
      ]
    case .flights:
      [
        IndexPlan(name: "byOrigin", fields: ["origin", "distance"]),
        IndexPlan(name: "byTail", fields: ["tailnum"]),
      ]
    }
  }

  private static func say(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data("\(text)\n".utf8))
  }
}

extension MeasureCommand.CorpusName: Sendable {}
extension ContenderName: ExpressibleByArgument {}
