import SyncProtocol

extension PeerPlan {
  /// Draws the numbers that shape a session.
  func tune(_ configuration: inout SessionConfiguration) {
    configuration.features.formUnion(Features(rawValue: offeredFeatures ?? 0))
    configuration.features.subtract(Features(rawValue: withheldFeatures))
    guard tuning != 0 else { return }
    var draws = Stream(UInt64(tuning), .shape)
    var tuning = SyncTuning()
    if draws.oneIn(2) { tuning.recordsPerCall = draws.logarithmic(in: 1...2_000) }
    if draws.oneIn(3) { tuning.bytesPerCall = draws.logarithmic(in: 100...100_000) }
    if draws.oneIn(3) { tuning.rangesInFlight = draws.int(in: 1...8) }
    if draws.oneIn(3) { tuning.applyDocuments = draws.int(in: 1...20) }
    if draws.oneIn(3) { tuning.applyBytes = draws.logarithmic(in: 100...100_000) }
    if draws.oneIn(3) { tuning.evictedDocuments = draws.int(in: 1...8) }
    if draws.oneIn(4) { tuning.watchedDocuments = draws.int(in: 1...20) }
    if draws.oneIn(4) { tuning.waitingOffers = draws.int(in: 1...20) }
    if draws.oneIn(4) { tuning.contendedDocuments = draws.int(in: 1...8) }
    if draws.oneIn(4) { tuning.successorRecordBytes = draws.logarithmic(in: 1...10_000) }
    configuration.tuning = tuning
  }
}
