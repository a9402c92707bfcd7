import Failpoints

/// Deliberate mistakes in how documents merge and clocks run, which the simulator must find.
package enum CRDTDefect: UInt8, Failpoint {
  /// The life of a merged document is the one that came last.
  case lifeTakenBlindly = 0
  /// Writes are stamped by the wall clock alone.
  case wallClockAlone
  /// A site's newest birth is taken to include what its former ones wrote.
  case formerBirthsCovered
}
