import CRDTCore
import Failpoints

/// The clock readings with which this store may have written.
///
/// If its site wrote with another reading, then another store did. The readings are kept in memory, to the
/// millisecond. Writes from before the store was opened cannot be distinguished from readings that it had
/// seen by then; none of them is above those.
final class IssuedReadings: Sendable {
  fileprivate struct State {
    /// All milliseconds up to this one may be the store's own.
    var unknownThrough: UInt64
    /// Ranges of milliseconds above that, ascending.
    var known: [ClosedRange<UInt64>] = []
    /// The last millisecond of a reading from the store's clock, and so of a writer's birth.
    var clockThrough: UInt64
  }

  /// How many ranges of milliseconds are remembered; a store that writes in every millisecond has one.
  fileprivate static let limit = 4_096

  private let state: Monitor<State>

  init(_ state: StoreState) {
    self.state = Monitor(
      State(
        unknownThrough: max(state.log.clock.latest, state.highestMet).milliseconds,
        clockThrough: state.log.clock.latest.milliseconds))
  }

  /// Records that a reading is given out, after readings up to `met` were seen.
  ///
  /// A write on a document from the future directly follows that document's writes. So it is in no later
  /// millisecond than the readings that were seen.
  func note(_ reading: ClockReading, met: ClockReading) {
    state.withLock { state in
      state.clockThrough = max(state.clockThrough, reading.milliseconds)
      if met > reading { state.unknownThrough = max(state.unknownThrough, met.milliseconds) }
      state.note(reading.milliseconds)
    }
  }

  /// Begins again, for a site that has written nothing.
  func forget() { state.withLock { $0 = State(unknownThrough: 0, clockThrough: 0) } }

  /// Whether the store may have written in the reading's millisecond or later.
  func reaches(_ reading: ClockReading) -> Bool {
    state.withLock { max($0.unknownThrough, $0.known.last?.upperBound ?? 0) } >= reading.milliseconds
  }

  /// Whether a writer of the store may have been born at that time or later.
  ///
  /// Births are readings of the clock even if a document is from the future, so they reveal a clone in that
  /// case, too.
  func reaches(birth: ClockReading) -> Bool {
    state.withLock { $0.clockThrough } >= birth.milliseconds || StoreDefect.birthsNotCompared.isPlanted
  }

  /// Whether the store may have written in the reading's millisecond.
  func mayInclude(_ reading: ClockReading) -> Bool {
    state.withLock { $0.mayInclude(reading.milliseconds) }
  }
}

extension IssuedReadings.State {
  mutating func note(_ millisecond: UInt64) {
    guard let last = known.last, millisecond <= last.upperBound + 1 else {
      return append(millisecond...millisecond)
    }
    if millisecond == last.upperBound + 1 {
      known[known.count - 1] = last.lowerBound...millisecond
    } else if !mayInclude(millisecond) {
      // A transaction without effect had a later one.
      unknownThrough = millisecond
    }
  }

  private mutating func append(_ range: ClosedRange<UInt64>) {
    if known.count == IssuedReadings.limit {
      let forgotten = known.prefix(known.count / 2)
      unknownThrough = max(unknownThrough, forgotten.last?.upperBound ?? 0)
      known.removeFirst(forgotten.count)
    }
    known.append(range)
  }

  func mayInclude(_ millisecond: UInt64) -> Bool {
    guard millisecond > unknownThrough else { return true }
    var (low, high) = (0, known.count)
    while low < high {
      let middle = (low + high) / 2
      if known[middle].upperBound < millisecond { low = middle + 1 } else { high = middle }
    }
    return low < known.count && known[low].contains(millisecond)
  }
}
