import ArgumentParser
import Dispatch
import Foundation
import QueryComparison
import Synchronization

/// Compares random statements on random stores with an evaluation that uses no index and decodes all records.
struct CompareCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare", abstract: "Compares random statements with a plain evaluation.")

  @Option(help: "How many comparisons there are at least.") var cases = 20_000
  @Option(help: "The first seed; with --stores 1 the only one.") var seed: UInt64 = 0
  @Option(help: "How many stores at most; each has a seed of its own.") var stores = Int.max
  @Option(help: "Of so many lists of constants one is as long as a scan may have spans.") var longLists = 300
  @Option(help: "Threads that compare.") var threads = ProcessInfo.processInfo.activeProcessorCount

  private struct Tally {
    var cases = 0
    var stores = 0
    var failures: [(seed: UInt64, error: String)] = []
  }

  func run() throws {
    let start = ContinuousClock.now
    let tally = Mutex(Tally())
    DispatchQueue.concurrentPerform(iterations: max(threads, 1)) { _ in
      while let seed = next(tally) {
        var failure: String?
        var count = 0
        do {
          count = try QueryComparison.run(seed: seed, oneLongListIn: longLists)
        } catch {
          failure = "\(error)"
        }
        tally.withLock { tally in
          tally.cases += count
          if let failure { tally.failures.append((seed, failure)) }
        }
      }
    }
    let result = tally.withLock { $0 }
    for failure in result.failures { print("seed \(failure.seed): \(failure.error)") }
    print(
      "\(result.cases) comparisons on \(result.stores) stores, \(result.failures.count) stores with a difference, "
        + "in \(ContinuousClock.now - start)")
    if !result.failures.isEmpty { throw ExitCode.failure }
  }

  private func next(_ tally: borrowing Mutex<Tally>) -> UInt64? {
    tally.withLock { tally in
      guard tally.cases < cases, tally.stores < stores, tally.failures.count < 10 else { return nil }
      defer { tally.stores += 1 }
      return seed + UInt64(tally.stores)
    }
  }
}
