import Failpoints

/// Deliberate defects in merging and clocks, which the simulator must find.
package enum CRDTDefect: UInt8, Failpoint {
  /// A merge always takes the life of the incoming document.
  case lifeTakenBlindly = 0
  /// Writes are stamped with the wall clock alone.
  case wallClockAlone
  /// A site's newest birth counts as including the writes of its earlier births.
  case formerBirthsCovered
}
