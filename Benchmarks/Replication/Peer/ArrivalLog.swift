import BenchmarkSupport
import DocStore
import Synchronization

/// When how many changes of each collection became durable and readable in a store.
final class ArrivalLog: Sendable {
  private struct Mark {
    let changes: Int
    let time: Double
  }

  private let marks = Mutex<[String: [Mark]]>([:])

  /// Called on the store's writer thread, so it only counts.
  func take(_ commit: Commit) {
    let time = Measures.nanoseconds
    var counts: [(collection: Collection, count: Int)] = []
    for change in commit.changes {
      if counts.last?.collection.id == change.key.collection {
        counts[counts.count - 1].count += 1
      } else {
        counts.append((change.collection, 1))
      }
    }
    for (collection, count) in counts { take(count, of: collection.name, at: time) }
  }

  /// Counts changes that have become durable.
  func take(_ count: Int, of collection: String, at time: Double = Measures.nanoseconds) {
    marks.withLock { marks in
      let before = marks[collection]?.last?.changes ?? 0
      marks[collection, default: []].append(Mark(changes: before + count, time: time))
    }
  }

  /// When the collection had seen so many changes; `nil` before that.
  func time(of changes: Int, in collection: String) -> Double? {
    marks.withLock { $0[collection]?.first { $0.changes >= changes }?.time }
  }

  func changes(in collection: String) -> Int { marks.withLock { $0[collection]?.last?.changes ?? 0 } }

  /// Waits until the collection has seen so many changes.
  func wait(for changes: Int, in collection: String, deadline: Duration) async throws -> Double {
    let start = ContinuousClock.now
    while true {
      if self.changes(in: collection) >= changes, let time = time(of: changes, in: collection) { return time }
      guard ContinuousClock.now - start < deadline else {
        throw BenchmarkError(
          "only \(self.changes(in: collection)) of \(changes) changes of \(collection) came in \(deadline)")
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}
