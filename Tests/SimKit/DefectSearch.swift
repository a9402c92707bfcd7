package import CRDTCore

/// Looks whether a planted defect is found: by the seed that found it once, else by one of many.
package struct DefectSearch {
  /// Seeds that have found a defect.
  package static let recorded: [Probe.Defect: UInt64] = [
    .groupStoredInParts: 94, .policyChangeIgnored: 82, .gateNotAsked: 1, .evictionNotAnswered: 7,
    .renewIgnored: 7, .offersIgnored: 35, .notForwarded: 1, .commitMissedInRound: 1, .leaveNotTold: 35,
    .groupSentInParts: 7, .interestKept: 30, .acknowledgementLost: 7, .pingNotSent: 2,
    .repairSkipped: 18, .debtForgotten: 18, .missingBaseIgnored: 18, .toldBeforeDurable: 1,
    .observerMissesMerges: 3, .lifeTakenBlindly: 3, .wallClockAlone: 9,
  ]

  /// Defects that no script can bring out: what they need does not happen in it.
  package static let excluded: Set<Probe.Defect> = [.damagedRecordSent]

  package let defect: Probe.Defect

  package init(_ defect: Probe.Defect) { self.defect = defect }

  /// The first of the seeds up to `limit` in which the defect breaks a promise that otherwise holds.
  ///
  /// - Returns: The seed and what is broken; `nil` when none finds it.
  package func find(limit: UInt64, size: Int = 100) -> (seed: UInt64, violation: Violation)? {
    let first = Self.recorded[defect].map { [$0] } ?? []
    for seed in first + Array(1...max(limit, 1)) {
      let script = Swarm.script(seed: seed, size: size)
      guard let violation = Simulation().run(script, defects: [defect]).violation,
        Simulation().run(script).violation == nil
      else { continue }
      return (seed, violation)
    }
    return nil
  }
}
