import ArgumentParser
import BenchmarkSupport
import DunlinKit
import Foundation

/// What many observers of `field = constant` cost writes that concern none or one of them.
@main
struct ObserversBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "observers", abstract: "Measure what observers cost a write, with and without many of them.")

  @Option(help: "Observers.")
  var count = 10_000
  @Option(help: "Rounds, each with all cases; ratios are taken round by round.")
  var rounds = 9
  @Option(help: "Writes of each case and round.")
  var writes = 1_000
  @Option(help: "Where files lie; by default a memory file system where there is one.")
  var directory: String?
  @Flag(help: "Small counts: for a check, not for figures.")
  var short = false
  @Flag(help: "Print every sample as JSON.")
  var json = false

  func run() throws {
    let parent =
      directory ?? (FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory())
    var report = Report()
    try Scratch.with(in: parent) { scratch in
      let dunlin = try Dunlin(
        path: scratch.path, identity: .unsafeDevelopment(appID: "benchmark"),
        configuration: DunlinConfiguration(peerName: "benchmark"))
      let trial = ObserverTrial(dunlin.store["orders"], writes: short ? 50 : max(writes, 1))
      try trial.fill()
      for round in 0..<(short ? 2 : max(rounds, 1)) {
        try measure(trial, short ? 500 : max(count, 1), round, &report)
      }
      try dunlin.close()
    }
    print(json ? try report.json() : report.table)
  }

  /// One sample of each case; the cases take turns in being first.
  private func measure(_ trial: ObserverTrial, _ count: Int, _ round: Int, _ report: inout Report) throws {
    var times: [Case: Sample] = [:]
    let cases = Case.allCases
    for index in cases.indices {
      let what = cases[(index + round) % cases.count]
      times[what] = try trial.sample(
        observers: what.isMany ? count : what == .none ? 0 : 1, concernsOne: what.concernsOne,
        awaitsHandler: what.awaitsHandler)
    }
    for what in cases {
      guard let sample = times[what] else { continue }
      report.add("\(what.title(count)), median", sample.median / 1e9, .seconds)
      report.add("\(what.title(count)), processor time", sample.processor, .seconds)
      guard let base = what.base, let other = times[base] else { continue }
      report.add("  to \(base.title(1))", sample.median / other.median, .times)
      report.add("  to \(base.title(1)), processor time", sample.processor / other.processor, .times)
    }
  }

  private enum Case: CaseIterable {
    case none, many, oneConcerned, manyOneConcerned, oneCalled, manyOneCalled

    var isMany: Bool { self == .many || self == .manyOneConcerned || self == .manyOneCalled }
    var concernsOne: Bool { self != .none && self != .many }
    var awaitsHandler: Bool { self == .oneCalled || self == .manyOneCalled }

    /// What the case is compared with.
    var base: Case? {
      switch self {
      case .none, .oneConcerned, .oneCalled: nil
      case .many: Case.none
      case .manyOneConcerned: .oneConcerned
      case .manyOneCalled: .oneCalled
      }
    }

    func title(_ count: Int) -> String {
      switch self {
      case .none: "write, no observer"
      case .many: "write, \(count.grouped) observers, none concerned"
      case .oneConcerned: "write, 1 observer, concerned"
      case .manyOneConcerned: "write, \(count.grouped) observers, one concerned"
      case .oneCalled: "write until its observer is called, 1 observer"
      case .manyOneCalled: "write until its observer is called, \(count.grouped) observers"
      }
    }
  }
}
