import Foundation
import QueryEngine
import Synchronization

/// A clock that moves on by a millisecond whenever it is read.
final class SharedClock: Sendable {
  private let milliseconds = Atomic<UInt64>(1_700_000_000_000)

  func next() -> UInt64 { milliseconds.add(1, ordering: .relaxed).newValue }
}

extension EngineEnvironment {
  /// One where no time passes.
  static let still = EngineEnvironment(now: { 0 })

  /// One where no time passes, and that knows time zones.
  static let zoned = EngineEnvironment(
    now: { 0 },
    zoneOffset: { name, milliseconds in
      let date = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
      return TimeZone(identifier: name)?.secondsFromGMT(for: date)
    })
}
