import ArgumentParser
import BenchmarkSupport
import Foundation

@main
struct Layers: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "layers", abstract: "Measure hot paths of single layers, in one process and on one thread.")

  enum Case: String, ExpressibleByArgument, CaseIterable {
    case orders, flights, store, subscriptions
  }

  @Option(help: "Documents of orders and flights.")
  var count = 100_000
  @Option(help: "Rounds over all documents; the median counts.")
  var rounds = 7
  @Option(help: "Where files lie; by default a memory file system where there is one.")
  var directory: String?
  @Option(help: "Flights as JSON lines, plain or gzip; repeated with ids of their own when too few.")
  var flights = "Tools/dunlin/Sample/flights.jsonl.gz"
  @Option(
    name: .customLong("case"), help: "Which cases to run; all by default: \(Case.allCases.map(\.rawValue))")
  var cases: [Case] = []
  @Flag(help: "Small counts: for a check, not for figures.")
  var short = false
  @Flag(help: "Print every sample as JSON.")
  var json = false

  func run() throws {
    let parent =
      directory ?? (FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory())
    let scratch = URL(filePath: parent).appendingPathComponent(
      "dunlin-layers-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: scratch) }
    let count = max(short ? min(count, 1_000) : count, 1)
    let rounds = max(short ? min(rounds, 3) : rounds, 1)
    var report = Report()
    for name in cases.isEmpty ? Case.allCases : cases {
      switch name {
      case .orders:
        var layers = RecordLayers(name: "orders", rounds: rounds, fields: .orders)
        try layers.run(try .orders(count, in: scratch), &report)
      case .flights:
        var layers = RecordLayers(name: "flights", rounds: rounds, fields: .flights)
        try layers.run(try .flights(count, from: flights, in: scratch), &report)
      case .store:
        let corpus = try Corpus.flights(min(count, 10_000), from: flights, in: scratch)
        try StoreLayers(corpus: corpus).run(&report, in: scratch)
      case .subscriptions:
        try SubscriptionLayers(rounds: rounds, commits: short ? 5 : 100).run(&report, in: scratch)
      }
    }
    print(json ? try report.json() : report.table)
  }
}
