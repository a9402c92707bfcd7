import ArgumentParser
import BenchmarkSupport
import Foundation

@main
struct Replication: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replication", abstract: "Measure two peers, each a process of its own, over loopback TCP.",
    subcommands: [MeasureCommand.self, PeerCommand.self], defaultSubcommand: MeasureCommand.self)
}

struct MeasureCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "measure", abstract: "Run the measurements.")

  enum Case: String, ExpressibleByArgument, CaseIterable {
    case orders, flights, meeting, merge, crowd, narrow, latency, thresholds, slow, constrained, counts,
      sizes, secure

    /// Those that run when none is named.
    static var usual: [Case] {
      #if TLS
        allCases
      #else
        allCases.filter { $0 != .secure }
      #endif
    }
  }

  @Option(help: "Documents of the bulk cases.")
  var count = 100_000
  @Option(help: "Runs of each case but narrow, slow, constrained, counts and sizes; the median counts.")
  var runs = 3
  @Option(help: "Where the stores lie; by default a memory file system where there is one.")
  var directory: String?
  @Option(help: "Flights as JSON lines, plain or gzip; repeated with ids of their own when too few.")
  var flights = "Tools/dunlin/Sample/flights.jsonl.gz"
  @Option(
    name: .customLong("case"), help: "Which cases to run; all by default: \(Case.allCases.map(\.rawValue))")
  var cases: [Case] = []
  @Option(help: "A directory for charts of counts and sizes, as SVG and JSON.")
  var charts: String?
  @Flag(help: "Small counts and no five megabytes over the slow link: for a check, not for figures.")
  var short = false
  @Flag(help: "Print every sample as JSON.")
  var json = false

  func validate() throws {
    var isDirectory: ObjCBool = false
    if let directory,
      !FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory) || !isDirectory.boolValue
    {
      throw ValidationError("--directory: there is no directory \(directory)")
    }
  }

  func run() async throws {
    let parent =
      directory ?? (FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory())
    let scratch = URL(filePath: parent).appendingPathComponent(
      "dunlin-benchmark-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: scratch) }
    let watches = [SIGINT, SIGTERM].map { Self.removeAndExit(scratch, on: $0) }
    defer { for watch in watches { watch.cancel() } }
    var report = Report()
    for name in cases.isEmpty ? Case.usual : cases { try await run(name, &report, in: scratch) }
    print(json ? try report.json() : report.table)
  }

  private func write(_ chart: some Chart, _ name: String) throws {
    if let charts { try chart.write(name, into: URL(filePath: charts)) }
  }

  private func runSecure(_ count: Int, _ report: inout Report, in scratch: URL) async throws {
    #if TLS
      let corpus = try Corpus.orders(count, in: scratch)
      defer { try? FileManager.default.removeItem(atPath: corpus.path) }
      try await SecureCase(corpus: corpus, commits: short ? 200 : 2_000, connections: short ? 10 : 100)
        .run(&report, in: scratch)
    #else
      throw BenchmarkError("this build has no TLS; build with --traits TLS")
    #endif
  }

  /// Leaves nothing behind when the user has had enough; the peers end when they hear nothing any more.
  private static func removeAndExit(_ scratch: URL, on number: Int32) -> any DispatchSourceSignal {
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number)
    source.setEventHandler {
      try? FileManager.default.removeItem(at: scratch)
      _exit(128 + number)
    }
    source.resume()
    return source
  }

  private func run(_ name: Case, _ report: inout Report, in scratch: URL) async throws {
    let count = short ? min(count, 5_000) : count
    let updates = min(10_000, count / 2)
    let meeting =
      name == .meeting ? MeetingCase(corpus: try .orders(count, in: scratch), updates: updates) : nil
    let merge = name == .merge ? MergeCase(corpus: try .orders(min(10_000, count), in: scratch)) : nil
    let crowd =
      name == .crowd
      ? CrowdCase(corpus: try .orders(1_000, in: scratch), peers: short ? 8 : 100, commits: short ? 5 : 50)
      : nil
    let bulk: BulkCase? =
      switch name {
      case .orders:
        BulkCase(
          corpus: try .orders(count, in: scratch), field: "amount",
          predicate: "status == 'paid' && amount > 500", updates: updates, withPostgres: true)
      case .flights:
        BulkCase(
          corpus: try .flights(count, from: flights, in: scratch), field: "dep_delay",
          predicate: "origin == 'JFK' && dep_delay > 60", updates: updates)
      default: nil
      }
    for round
      in 1...(short || [.narrow, .slow, .constrained, .counts, .sizes].contains(name) ? 1 : max(runs, 1))
    {
      try? FileHandle.standardError.write(contentsOf: Data("\(name.rawValue), run \(round)\n".utf8))
      switch name {
      case .orders, .flights: try bulk?.run(&report, in: scratch)
      case .meeting: try meeting?.run(&report, in: scratch)
      case .merge: try merge?.run(&report, in: scratch)
      case .crowd: try crowd?.run(&report, in: scratch)
      case .narrow: try await NarrowCase(count: count, neighbours: short ? 8 : 100).run(&report, in: scratch)
      case .latency: try LatencyCase(commits: short ? 200 : 2_000).run(&report, in: scratch)
      case .thresholds: try ThresholdCase(slow: false, includesLarge: true).run(&report, in: scratch)
      case .slow: try ThresholdCase(slow: true, includesLarge: !short).run(&report, in: scratch)
      case .constrained: try await ConstrainedCase(short: short).run(&report, in: scratch)
      case .counts:
        let all = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
        let lines = try CountsCase(counts: short ? Array(all.prefix(2)) : all).run(&report, in: scratch)
        try write(CountsCase.chart(lines), "replication-counts")
      case .sizes:
        let lines = try SizesCase(includesLarge: !short).run(&report, in: scratch)
        try write(SizesCase.chart(lines), "document-sizes")
      case .secure: try await runSecure(count, &report, in: scratch)
      }
    }
    for corpus in [bulk?.corpus, meeting?.corpus, merge?.corpus, crowd?.corpus] {
      if let corpus { try? FileManager.default.removeItem(atPath: corpus.path) }
    }
  }
}
