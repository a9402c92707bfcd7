package import CRDTCore

/// Looks whether a planted defect is found: by the script that is kept for it, else by one of many seeds.
package struct DefectSearch {
  /// Defects that no seed has found so far: they are looked for by hand.
  package static let unfound: Set<Probe.Defect> = [
    .runUnchecked, .certificatesNotAskedFor, .policyChangeIgnored, .debtForgotten, .ownLogNotTold, .markAhead,
    .lifeTakenBlindly, .unreadableNotTold,
  ]

  /// What a seed comes to with nothing planted.
  private struct Plain {
    let holds: Bool
    let reached: Set<String>
  }

  private let size: Int
  private let scripts: [Probe.Defect: Script]
  private var plain: [UInt64: Plain] = [:]

  /// Makes a search among `scripts`, then among seeds of a size in percent of the usual.
  package init(size: Int = 100, scripts: [Probe.Defect: Script] = [:]) {
    self.size = size
    self.scripts = scripts
  }

  /// The script of a defect, or of the first of the seeds up to `limit`, in which it breaks a promise that otherwise
  /// holds.
  ///
  /// - Returns: The script and what is broken; `nil` when none finds it.
  package mutating func find(
    _ defect: Probe.Defect, limit: UInt64
  ) -> (script: Script, violation: Violation)? {
    if let script = scripts[defect], let violation = play(script, defect), play(script, nil) == nil {
      return (script, violation)
    }
    guard limit > 0 else { return nil }
    for seed in 1...limit {
      let plain = play(seed)
      guard plain.holds, Self.place(of: defect).map(plain.reached.contains) ?? true else { continue }
      let script = Swarm.script(seed: seed, size: size)
      if let violation = play(script, defect) { return (script, violation) }
    }
    return nil
  }

  private func play(_ script: Script, _ defect: Probe.Defect?) -> Violation? {
    Simulation().run(script, defects: Set([defect].compactMap(\.self))).violation
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
