import BenchmarkSupport
import Dispatch
import DunlinKit
import Foundation

/// The time of one write in nanoseconds, and the processor time of the process in seconds.
struct Sample {
  let median: Double
  let processor: Double
}

/// Writes documents one by one while observers of `state = constant` look on.
final class ObserverTrial {
  private static let documents = 2_000

  private let orders: DunlinCollection
  private let writes: Int
  private var written = 0

  init(_ orders: DunlinCollection, writes: Int) {
    self.orders = orders
    self.writes = writes
  }

  func fill() throws {
    for _ in 0..<Self.documents { try write(state: -1) }
  }

  private func write(_ id: Int? = nil, state: Int) throws {
    written += 1
    try orders.upsert(["_id": id ?? written % Self.documents, "state": state, "amount": written])
  }

  /// Registers observers, waits until all have their first result, writes, and lets them go.
  func sample(observers count: Int, concernsOne: Bool, awaitsHandler: Bool) throws -> Sample {
    let calls = DispatchSemaphore(value: 0)
    let observers = (0..<count).map { number in
      orders.find("state == $args.s", args: ["s": number]).observeLocal { _, _ in calls.signal() }
    }
    for _ in 0..<count { calls.wait() }
    var times: [Double] = []
    let processor = Measures.cpuSeconds
    for number in 0..<writes {
      let start = Measures.nanoseconds
      if concernsOne {
        // The only document that the first observer shows.
        try write(-1, state: 0)
      } else {
        try write(state: -1 - number % 50)
      }
      if awaitsHandler { calls.wait() }
      times.append(Measures.nanoseconds - start)
    }
    let spent = Measures.cpuSeconds - processor
    for observer in observers { observer.cancel() }
    if concernsOne { try write(-1, state: -1) }
    times.sort()
    return Sample(median: times[times.count / 2], processor: spent / Double(writes))
  }
}
