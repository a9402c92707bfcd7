import Failpoints

/// What a campaign of the simulator must have met in the store.
package enum StorePoint: UInt8, CoveragePoint {
  /// A deletion was evicted, and left a certificate.
  case deletionCertified = 0
}
