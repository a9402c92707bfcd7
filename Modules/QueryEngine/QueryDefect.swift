import Failpoints

/// Deliberate mistakes in how a statement finds its documents and in what live queries show, which the comparison of
/// queries or the simulator must find.
package enum QueryDefect: UInt8, Failpoint {
  // MARK: Exactness

  /// Ranges that were joined because there are too many of them count as settling the filter.
  case joinedRangesCountAsSettled = 32
  /// A row that has only the beginning of its value is taken for a match.
  case cutRowNotTested

  // MARK: Access paths

  /// A scan of all documents passes over one.
  case scanMissesDocument
  /// Of several ids the last one is not looked up.
  case idMissed
  /// A range of ids ends before its last document.
  case idRangeShort
  /// A scan of an index ends before its last row.
  case indexScanShort
  /// A union has the rows of its first scan alone.
  case unionOfFirstScan
  /// An intersection passes over the first document that it finds.
  case intersectionShort
  /// A row of a covering index that the filter refuses is shown.
  case coveringUnfiltered
  /// A count by an index counts a row twice.
  case countedTwice
  /// A scan in the order of an index takes rows with cut keys as they stand.
  case cutRowsUnsorted
  /// The greatest value is looked for where the least one stands.
  case endsTurned
  /// Looking for the next different value passes over one.
  case distinctSkipsTooFar
  /// A partner found by an index is not joined.
  case joinMissesPartner
  /// A group misses its first document.
  case groupMissesDocument

  // MARK: Tests in place

  /// A list of integers does not have its greatest one.
  case listOfIntegersShort
  /// A hashed list does not have its last value.
  case hashedListShort
  /// A negated test of a hashed list with a null is true.
  case hashedListForgetsNull
  /// A program compares integers as doubles.
  case programComparesDoubles
  /// The automaton takes a word's end for no boundary.
  case automatonIgnoresPlaces

  // MARK: Writes and live queries

  /// UPDATE leaves out the last document.
  case updateMissesDocument
  /// DELETE leaves out the last document.
  case removalMissesDocument
  /// RETURNING shows one row too few.
  case returningShort
  /// A live query does not add a document that begins to match.
  case liveMissesInsertion
  /// Live groups do not take away what leaves them.
  case liveGroupKeepsLeaver
  /// A query that is run again is so only for what documents have become.
  case rerunForgetsBefore
  /// An observer of a constant is found by what documents are, and not by what they were.
  case observerIndexForgetsBefore
  /// Observers do not follow what comes from peers.
  case observerMissesMerges
  /// A subscription's terms are not all asked.
  case subscriptionDropsTerm
}
