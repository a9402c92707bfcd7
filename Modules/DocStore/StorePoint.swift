import Failpoints

/// Events that a campaign of the simulator must have reached in the store.
package enum StorePoint: UInt8, CoveragePoint {
  /// A tombstone was evicted, and left a compacted tombstone.
  case deletionCertified = 0
}
