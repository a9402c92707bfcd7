import CRDTCore

/// The time that a store has lived through: lifetimes are counted in it.
///
/// It follows the wall clock, and every commit saves it. For a period without an update it counts a day at
/// most, and nothing if the wall clock went back. So a clock that is years ahead, for a while or from now on,
/// makes a store forget a day early. It does not make it forget everything at once.
struct LivedTime: Hashable, Sendable {
  /// The lived time in milliseconds; it begins as the wall time and never goes back.
  private(set) var now: UInt64 = 0
  /// The wall time in milliseconds at the last update.
  private(set) var wall: UInt64 = 0

  /// The most that counts for one period.
  static let maximumStep: UInt64 = 86_400_000

  init() {}

  init(now: UInt64, wall: UInt64) {
    self.now = now
    self.wall = wall
  }

  mutating func advance(to wall: UInt64) {
    if self.wall == 0 {
      now = max(now, wall)
    } else {
      let step = now.addingReportingOverflow(min(wall - min(self.wall, wall), Self.maximumStep))
      if !step.overflow { now = step.partialValue }
    }
    self.wall = wall
  }

  func advanced(to wall: UInt64) -> LivedTime {
    var later = self
    later.advance(to: wall)
    return later
  }

  /// Whether an update is due, because a part of a longer period would not count.
  func isBehind(_ wall: UInt64) -> Bool { wall < self.wall || wall - self.wall > Self.maximumStep / 2 }
}
