import SyncProtocol

extension PeerPlan {
  /// Draws the numbers that shape a session.
  func tune(_ configuration: inout SessionConfiguration) {
    if tuning != 0 { drawShape(of: &configuration.tuning) }
    if let telling { drawTelling(telling, of: &configuration.tuning) }
    if let memory { drawMemory(memory, of: &configuration.tuning) }
  }

  /// Draws after how few notices sides are changed, and how much filters hit by chance.
  private func drawTelling(_ number: Int, of tuning: inout SyncTuning) {
    var draws = Stream(UInt64(number), .telling)
    tuning.notices.freeNotices = UInt64(draws.int(in: 0...3))
    tuning.notices.exactNotices = draws.pick([0, 1, 2, 4, 4_096])
    tuning.notices.leastLookups = UInt64(draws.pick([1, 4, 16]))
    tuning.notices.filterBits = UInt64(draws.pick([1, 4, 10, 64]))
  }

  /// Draws how much a session may hold.
  ///
  /// The limit at which a receiver ends the session follows from the credit that it grants. An honest sender
  /// never reaches it.
  private func drawMemory(_ number: Int, of tuning: inout SyncTuning) {
    var draws = Stream(UInt64(number), .memory)
    tuning.transfers.waitingBytes = draws.logarithmic(in: 1...1 << 20)
    // No less than what lets a long way be used at all.
    tuning.applying.creditBytes = draws.logarithmic(in: 4_000...1 << 20)
    // What may be announced is drawn with the shape.
    tuning.waitingOffers = draws.logarithmic(in: 1...200)
  }

  private func drawShape(of tuning: inout SyncTuning) {
    var draws = Stream(UInt64(self.tuning), .shape)
    if draws.oneIn(2) { tuning.calls.records = draws.logarithmic(in: 1...2_000) }
    if draws.oneIn(3) { tuning.calls.bytes = draws.logarithmic(in: 100...100_000) }
    if draws.oneIn(3) { tuning.rangesInFlight = draws.int(in: 1...8) }
    if draws.oneIn(3) { tuning.applying.documents = draws.int(in: 1...20) }
    if draws.oneIn(3) { tuning.applying.bytes = draws.logarithmic(in: 100...100_000) }
    if draws.oneIn(3) { tuning.evictedDocuments = draws.int(in: 1...8) }
    if draws.oneIn(4) { tuning.possibleHolders = draws.int(in: 1...20) }
    if draws.oneIn(4) { tuning.waitingOffers = draws.int(in: 1...20) }
    if draws.oneIn(4) { tuning.contendedDocuments = draws.int(in: 1...8) }
    if draws.oneIn(4) { tuning.operationDeltaRecordBytes = draws.logarithmic(in: 1...10_000) }
    if draws.oneIn(4) { tuning.walkedDocuments = draws.int(in: 1...40) }
    if draws.oneIn(4) { tuning.leavingDocuments = draws.int(in: 1...8) }
    if draws.oneIn(4) { tuning.announcedDocuments = draws.int(in: 1...20) }
    if draws.oneIn(4) { tuning.notices.afterResuming = draws.int(in: 1...8) }
    if draws.oneIn(4) { tuning.doubtfulCommits = UInt64(draws.int(in: 1...200)) }
    if draws.oneIn(2) {
      tuning.transfers.splitDocuments = draws.int(in: 1...6)
      if draws.oneIn(2) { tuning.transfers.splitBytes = draws.logarithmic(in: 50...4_000) }
    }
    if draws.oneIn(3) { (tuning.transfers.slowSpan, tuning.transfers.stagingSpan) = (.zero, .zero) }
    if draws.oneIn(4) { tuning.documentsInMotion = draws.int(in: 1...8) }
    if draws.oneIn(2) { tuning.transfers.leastStagedBytes = draws.logarithmic(in: 1...4_000) }
    if draws.oneIn(2) { tuning.transfers.packingPatience = .microseconds(draws.logarithmic(in: 1...100_000)) }
  }
}
