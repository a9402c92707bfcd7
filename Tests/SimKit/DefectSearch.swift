package import CRDTCore

/// Looks whether a planted defect is found: by the seed that found it once, else by one of many.
package struct DefectSearch {
  /// Seeds that have found a defect.
  package static let recorded: [Probe.Defect: UInt64] = [
    .damagedRecordSent: 41, .siteNotRenewed: 51, .groupStoredInParts: 51, .announcementForgotten: 3,
    .gateNotAsked: 1, .evictionNotAnswered: 1, .renewIgnored: 44, .offersIgnored: 61, .notForwarded: 19,
    .commitMissedInRound: 51, .leaveNotTold: 30, .groupSentInParts: 7, .interestKept: 30,
    .acknowledgementLost: 4, .pingNotSent: 2, .repairSkipped: 69, .successorNotChecked: 11,
    .missingBaseIgnored: 42, .toldBeforeDurable: 10, .observerMissesMerges: 4, .lifeTakenBlindly: 7,
    .wallClockAlone: 2, .componentPublishedInParts: 7, .cursorAhead: 49, .evictionsForgotten: 81,
    .policyPrintForgotten: 53, .evictedDeletionForgotten: 1_959, .unaskedInParts: 502, .queueNotDropped: 8,
    .lettingGoUnasked: 38, .leftStays: 19, .fieldNotWritten: 5, .checksumIgnored: 1_708,
    .framesNotNumbered: 1_245, .sentBindsNothing: 320_644,
  ]

  /// Defects that no seed has found so far: they are looked for by hand.
  package static let unfound: Set<Probe.Defect> = [
    .runUnchecked, .certificatesNotAskedFor, .policyChangeIgnored, .debtForgotten, .ownLogNotTold, .markAhead,
  ]

  /// What a seed comes to with nothing planted.
  private struct Plain {
    let holds: Bool
    let reached: Set<String>
  }

  private let size: Int
  private var plain: [UInt64: Plain] = [:]

  package init(size: Int = 100) { self.size = size }

  /// The first of the seeds up to `limit` in which a defect breaks a promise that otherwise holds.
  ///
  /// - Returns: The seed and what is broken; `nil` when none finds it.
  package mutating func find(
    _ defect: Probe.Defect, limit: UInt64
  ) -> (seed: UInt64, violation: Violation)? {
    if let seed = Self.recorded[defect], let violation = play(seed, defect), play(seed).holds {
      return (seed, violation)
    }
    guard limit > 0 else { return nil }
    for seed in 1...limit {
      let plain = play(seed)
      guard plain.holds, Self.place(of: defect).map(plain.reached.contains) ?? true,
        let violation = play(seed, defect)
      else { continue }
      return (seed, violation)
    }
    return nil
  }

  private func play(_ seed: UInt64, _ defect: Probe.Defect) -> Violation? {
    Simulation().run(Swarm.script(seed: seed, size: size), defects: [defect]).violation
  }

  private mutating func play(_ seed: UInt64) -> Plain {
    if let known = plain[seed] { return known }
    let outcome = Simulation().run(Swarm.script(seed: seed, size: size))
    let result = Plain(
      holds: outcome.violation == nil,
      reached: Set(outcome.reached.keys.map(\.rawValue) + outcome.met.map(\.rawValue)))
    plain[seed] = result
    return result
  }

  /// What has to happen in a run for a defect to matter, where there is such a thing.
  private static func place(of defect: Probe.Defect) -> String? {
    switch defect {
    case .damagedRecordSent: Sometimes.rotted.rawValue
    case .siteNotRenewed: Probe.Point.laterSelfMet.rawValue
    case .runUnchecked: Probe.Point.runLeftOut.rawValue
    case .groupStoredInParts, .missingBaseIgnored: Probe.Point.groupLeftOut.rawValue
    case .componentPublishedInParts: Probe.Point.stagedPublished.rawValue
    case .successorNotChecked: Probe.Point.successorLeftOut.rawValue
    case .announcementForgotten: Probe.Point.pulledAtOnce.rawValue
    case .repairSkipped: Probe.Point.repaired.rawValue
    case .unaskedInParts: Probe.Point.sentUnasked.rawValue
    case .cursorAhead, .markAhead, .ownLogNotTold, .policyPrintForgotten, .evictionsForgotten:
      Probe.Point.cursorFollowed.rawValue
    case .evictedDeletionForgotten: Probe.Point.deletionCertified.rawValue
    case .policyChangeIgnored: Sometimes.scopeChangedInSession.rawValue
    case .evictionNotAnswered: Sometimes.evictedUnderSubscription.rawValue
    case .interestKept: Sometimes.subscribedInSession.rawValue
    case .certificatesNotAskedFor: Sometimes.forgotten.rawValue
    case .observerMissesMerges: Sometimes.observed.rawValue
    case .checksumIgnored, .framesNotNumbered: Sometimes.garblingWasNoticed.rawValue
    case .lettingGoUnasked, .leftStays: Probe.Point.letGo.rawValue
    default: nil
    }
  }
}
