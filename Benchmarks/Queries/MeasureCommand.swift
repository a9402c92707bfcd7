import ArgumentParser
import BenchmarkSupport
import Foundation

struct MeasureCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "measure", abstract: "Run the measurements.")

  @Option(help: "Documents of each large collection.")
  var count = 100_000
  @Option(help: "Rounds; in each every contender has its turn, and the medians count.")
  var rounds = 3
  @Option(help: "How long each question is asked again, in seconds.")
  var seconds = 0.5
  @Option(help: "The directory for stores; one on a memory file system leaves the disk out of it.")
  var directory = "/dev/shm"
  @Option(name: .customLong("store"), help: "Who is asked; all by default: lmdb, sqlite, prepared, dunlin.")
  var contenders: [QueryContenderName] = []
  @Option(help: "Flights as JSON lines, plain or gzip; the airlines stand beside them.")
  var flights = "Tools/dunlin/Sample/flights.jsonl.gz"
  @Option(help: "A directory for charts, as SVG and JSON.")
  var charts: String?
  @Flag(help: "Small counts and one round: for a check, not for figures.")
  var short = false
  @Flag(help: "Print every sample as JSON.")
  var json = false

  /// The questions of the chart; the report has all of them.
  private static let charted: Set = [
    "point", "filter 1 %, scan", "filter 1 %, by index", "group by", "join by id",
  ]

  func run() throws {
    var comparison = Comparison<QueryContenderName>(of: .prepared, to: [.lmdb, .sqlite, .dunlin])
    try Scratch.with(in: directory) { try measure($0, &comparison) }
    if let charts {
      try comparison.chart("Queries over \(count.grouped) documents: seconds, less is better") {
        Self.charted.contains($0) ? $0 : nil
      }.write("queries", into: URL(filePath: charts))
    }
    print(json ? try comparison.json() : comparison.table)
  }

  private func measure(_ scratch: URL, _ comparison: inout Comparison<QueryContenderName>) throws {
    let count = short ? min(count, 4_000) : count
    let orders = try Corpus.orders(count, in: scratch)
    let filling = [
      FilledCollection(
        name: "orders", corpus: orders.path, indexes: [["amount"], ["createdAt"], ["email"], ["status"]]),
      FilledCollection(
        name: "flights", corpus: try Corpus.flights(count, from: flights, in: scratch).path,
        indexes: [["origin", "distance"]]),
      FilledCollection(
        name: "airlines",
        corpus: try Corpus.lines(
          "airlines", of: flights.replacingOccurrences(of: "flights.jsonl", with: "airlines.jsonl"),
          in: scratch
        ).path),
    ]
    let contenders = contenders.isEmpty ? QueryContenderName.allCases : contenders
    let prefix = try Self.prefix(orders.path)
    func trial(_ contender: QueryContenderName, _ place: BenchmarkQuery.Place) -> QueryTrial {
      QueryTrial(
        contender: contender,
        directory: scratch.appendingPathComponent("\(contender.filler.rawValue)-\(place.rawValue)").path,
        place: place, corpus: orders.path, prefix: prefix, seconds: short ? 0.02 : seconds)
    }
    for place in BenchmarkQuery.Place.allCases {
      for filler in Set(contenders.map(\.filler)) where place == .scan || filler != .lmdb {
        var filled = trial(filler, place)
        filled.filling = filling
        if place == .scan { for index in filled.filling.indices { filled.filling[index].indexes = [] } }
        _ = try TrialProcess.run(filled, "\(filler.title): filling")
      }
    }
    for round in 0..<(short ? 1 : max(rounds, 1)) {
      Self.say("round \(round + 1)")
      for place in BenchmarkQuery.Place.allCases {
        var answers: [String: (contender: QueryContenderName, answer: String)] = [:]
        for turn in contenders.indices {
          let contender = contenders[(turn + round) % contenders.count]
          if place == .index, contender == .lmdb { continue }
          let result = try TrialProcess.run(trial(contender, place), contender.title)
          for query in BenchmarkQuery.all(prefix: prefix) where query.places.contains(place) {
            let title = query.places.count > 1 ? "\(query.name), \(place.rawValue)" : query.name
            comparison.add(title, contender, result[query.name], .seconds)
            if result[query.name] == nil, contender != .lmdb {
              Self.say("\(contender.title) does not answer: \(query.name)")
            }
          }
          try Self.compare(result, contender, &answers)
        }
      }
    }
  }

  /// All contenders give the same rows, or the figures mean nothing.
  private static func compare(
    _ result: TrialResult, _ contender: QueryContenderName,
    _ answers: inout [String: (contender: QueryContenderName, answer: String)]
  ) throws {
    for (name, answer) in result.answers {
      if let other = answers[name], other.answer != answer {
        throw BenchmarkError(
          "\(name): \(contender.title) answers \(answer), \(other.contender.title) \(other.answer)")
      }
      answers[name] = (contender, answer)
    }
  }

  /// The beginning of the first order's mail address: the first name and a letter.
  private static func prefix(_ path: String) throws -> String {
    var reader = try CorpusReader(path: path)
    guard let line = try reader.next(1).first,
      let mail = String(decoding: line.text, as: UTF8.self).range(of: "\"email\":\"")
    else { throw BenchmarkError("the first order has no mail address") }
    let address = String(decoding: line.text, as: UTF8.self)[mail.upperBound...]
    guard let dot = address.firstIndex(of: ".") else { throw BenchmarkError("a mail address has no dot") }
    return String(address[...address.index(after: dot)])
  }

  private static func say(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data("\(text)\n".utf8))
  }
}

extension QueryContenderName: ExpressibleByArgument {}
