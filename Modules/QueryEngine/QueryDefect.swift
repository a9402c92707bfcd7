import Failpoints

/// Deliberate defects in the search for documents and in live queries.
///
/// The comparison of queries or the simulator must find them.
package enum QueryDefect: UInt8, Failpoint {
  // MARK: Exactness

  /// Ranges that were joined because there are too many of them count as settling the filter.
  case joinedRangesCountAsSettled = 32
  /// A row that has only the beginning of its value counts as a match.
  case cutRowNotTested

  // MARK: Access paths

  /// A scan of all documents skips one.
  case scanMissesDocument
  /// The last one of several ids is not looked up.
  case idMissed
  /// A range of ids ends before its last document.
  case idRangeShort
  /// A scan of an index ends before its last row.
  case indexScanShort
  /// A union returns only the rows of its first scan.
  case unionOfFirstScan
  /// An intersection skips the first document that it finds.
  case intersectionShort
  /// A row of a covering index that the filter refuses is shown.
  case coveringUnfiltered
  /// A count by an index counts a row twice.
  case countedTwice
  /// A scan in the order of an index does not sort rows with cut keys.
  case cutRowsUnsorted
  /// The greatest value is read at the end of the index that has the least one.
  case endsTurned
  /// The search for the next different value skips one.
  case distinctSkipsTooFar
  /// A partner found by an index is not joined.
  case joinMissesPartner
  /// A group misses its first document.
  case groupMissesDocument

  // MARK: Writes and live queries

  /// UPDATE leaves out the last document.
  case updateMissesDocument = 52
  /// DELETE leaves out the last document.
  case removalMissesDocument
  /// RETURNING shows one row too few.
  case returningShort
  /// A live query does not add a document that begins to match.
  case liveMissesInsertion
  /// Live groups do not remove documents that leave them.
  case liveGroupKeepsLeaver
  /// A query is run again only for the new versions of documents, and not for the old ones.
  case rerunForgetsBefore
  /// An observer of a constant is found only by the new versions of documents, and not by the old ones.
  case observerIndexForgetsBefore
  /// Observers do not follow changes from peers.
  case observerMissesMerges
}
