import Failpoints

/// Deliberate defects in the tests of documents in place, and in subscriptions.
///
/// The comparison of queries or the simulator must find them.
package enum LanguageDefect: UInt8, Failpoint {
  /// A list of integers lacks its greatest one.
  case listOfIntegersShort = 47
  /// A hashed list lacks its last value.
  case hashedListShort
  /// A negated test of a hashed list with a null is true.
  case hashedListForgetsNull
  /// A program compares integers as doubles.
  case programComparesDoubles
  /// The automaton does not treat the end of a word as a boundary.
  case automatonIgnoresPlaces
  /// Not all of a subscription's terms are tested.
  case subscriptionDropsTerm = 60
}
