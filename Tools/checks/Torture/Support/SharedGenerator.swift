import Synchronization
import TestKit

/// A seeded random source for use from any thread.
final class SharedGenerator: Sendable {
  private let generator: Mutex<SeededGenerator>

  init(seed: UInt64) { generator = Mutex(SeededGenerator(seed: seed)) }

  func next() -> UInt64 { generator.withLock { $0.next() } }
}
