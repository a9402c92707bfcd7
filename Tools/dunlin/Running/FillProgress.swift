import CRDTCore
import Facade
import Foundation
import SyncProtocol
import Transports

/// Reports how a served peer fills: the documents so far, their rate, and when it has all that its peers had.
///
/// How much is left is what the senders know: peers find out what differs as they go.
struct FillProgress {
  private let dunlin: Dunlin
  private let isTerminal = isatty(STDERR_FILENO) == 1
  /// How often a terminal is told; others hear of every tenth time.
  private static let interval = Duration.milliseconds(500)
  private static let quietTimes = 10

  init(_ dunlin: Dunlin) { self.dunlin = dunlin }

  /// Begins to tell, beside everything else.
  func start() -> Task<Void, Never> {
    Task {
      var course = Course()
      while !Task.isCancelled {
        do { try await Task.sleep(for: Self.interval) } catch { return }
        step(&course)
      }
    }
  }

  private struct Course {
    /// Connections that have been seen.
    var known: Set<UInt64> = []
    /// When the connections were looked at last: what has come since then came in that time.
    var lookedAt = ContinuousClock.now
    /// There while documents come that the peers had before.
    var run: Run?
  }

  /// A time during which documents come.
  private struct Run {
    /// Documents that had come before.
    let before: Int
    var bar: Progress
    var times = 0
    /// Documents that were told of last; what peers hold back never comes.
    var told = 0
    /// The part that has come, as far as all of the peers know; it never goes back.
    var share: Double?

    /// Notes which part of what the connections bring has come.
    mutating func note(_ connections: [PeerConnection]) {
      let filling = connections.filter { !$0.progress.isCaughtUp }.map(\.progress.pull)
      let pulls = connections.map(\.progress.pull)
      guard filling.allSatisfy({ $0.documentsExpected != nil }) else { return }
      let expected = pulls.reduce(0.0) { $0 + Double($1.documentsExpected ?? 0) }
      let received = pulls.reduce(0.0) { $0 + Double($1.documentsReceived) }
      if expected > 0 { share = max(share ?? 0, min(received / expected, 0.99)) }
    }
  }

  private func step(_ course: inout Course) {
    let connections = dunlin.parts.network.connections.filter { $0.peer != nil }
    func received(_ some: [PeerConnection]) -> Int {
      some.reduce(0) { $0 + Int(clamping: $1.statistics.documentsReceived) }
    }
    let new = connections.filter { !course.known.contains($0.id) }
    let isFilling = connections.contains { !$0.progress.isCaughtUp }
    course.known = Set(connections.map(\.id))
    let start = course.lookedAt
    course.lookedAt = .now
    guard isFilling || !new.isEmpty || course.run != nil else { return }
    var run =
      course.run
      ?? Run(before: received(connections) - received(new), bar: Progress("Filling", start: start))
    // A connection that has ended took its figures along.
    let count = max(0, received(connections) - run.before)
    guard isFilling else {
      course.run = nil
      let summary = run.bar.finish(count)
      if count > 0 { show("\(summary); all that the peers had is here") }
      return
    }
    run.times += 1
    run.note(connections)
    run.bar.update(count, share: run.share)
    if !isTerminal, run.times % Self.quietTimes == 0, count > run.told {
      show(run.bar.line(count, run.share))
      run.told = count
    }
    course.run = run
  }
}
