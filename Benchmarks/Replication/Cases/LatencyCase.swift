import BenchmarkSupport
import Foundation

/// From a commit at one peer to the observer at the other, one small document at a time.
struct LatencyCase {
  let commits: Int

  func run(_ report: inout Report, in directory: URL) throws {
    try run(.raw, "latency, raw LMDB over TCP", &report, in: directory)
    try run(.application, "latency", &report, in: directory)
  }

  private func run(_ kind: PeerKind, _ name: String, _ report: inout Report, in directory: URL) throws {
    let (fromCall, fromDurable) = try Self.measure(kind, commits, in: directory)
    for (share, rank) in [(0.5, "p50"), (0.99, "p99")] {
      let index = min(Int(Double(commits) * share), commits - 1)
      report.add("\(name): call of write to observer, \(rank)", fromCall[index] / 1e9, .seconds)
      report.add("\(name): return of write to observer, \(rank)", fromDurable[index] / 1e9, .seconds)
    }
  }

  /// Nanoseconds until the other peer's observer sees each document, sorted.
  ///
  /// They are measured from the call of the write and from its return.
  static func measure(
    _ kind: PeerKind, _ commits: Int, in directory: URL
  ) throws -> (fromCall: [Double], fromDurable: [Double]) {
    let pair = try Pair(kind, in: directory)
    try pair.sender.ask(.mark(collection: "ticks"))
    _ = try pair.pull("ticks", count: 1)
    try pair.receiver.send(.observe(collection: "ticks", count: commits))
    _ = try pair.receiver.reply()
    let sent = try pair.sender.ask(
      .commitOneByOne(collection: "ticks", count: commits, gapMilliseconds: 2))
    let seen = try pair.receiver.reply()
    guard !seen.times.contains(0) else {
      throw BenchmarkError("an update did not reach the observer by itself")
    }
    try pair.quit()
    return (
      zip(seen.times, sent.times).map { $0 - $1 }.sorted(),
      zip(seen.times, sent.endTimes).map { $0 - $1 }.sorted()
    )
  }
}
