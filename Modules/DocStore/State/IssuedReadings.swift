import CRDTCore
import Synchronization

/// Up to where the clock readings go that this store may have written with: what its site wrote later, another store did.
///
/// It is kept in memory: what was written before the store was opened is not above what it had met by then.
final class IssuedReadings: Sendable {
  private let highest: Atomic<UInt64>

  init(_ state: StoreState) { highest = Atomic(max(state.log.clock.latest, state.highestMet).rawValue) }

  var latest: ClockReading { ClockReading(rawValue: highest.load(ordering: .acquiring)) }

  /// Takes note of a reading that is given out, to one who has met with others.
  ///
  /// A write on a document from the future follows that, and so is in no later millisecond than what was met.
  func note(_ reading: ClockReading, met: ClockReading) {
    highest.max(max(reading, met).rawValue, ordering: .acquiringAndReleasing)
  }
}
