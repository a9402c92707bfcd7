import CRDTCore
import DocStore
package import Failpoints
import QueryEngine
package import SyncProtocol

/// Looks whether a planted defect is found: by the script that is kept for it, else by one of many seeds.
package struct DefectSearch {
  /// The defects of all layers, without those that the comparison of queries looks for.
  package static let defects: [any Failpoint] =
    CRDTDefect.allCases + StoreDefect.allCases.filter { $0 != .longKeysVisitedTwice }
    + [QueryDefect.observerMissesMerges] + SyncDefect.allCases

  /// The names of defects that no seed has found so far: they are looked for by hand.
  package static let unfound = Set(
    [CRDTDefect.lifeTakenBlindly.name, StoreDefect.birthsNotCompared.name]
  ).union(
    [
      SyncDefect.runUnchecked, .certificatesNotAskedFor, .policyChangeIgnored, .debtForgotten, .ownLogNotTold,
      .unreadableNotTold,
    ].map(\.name))

  /// The defect of a name; `nil` when there is none.
  package static func defect(named name: String) -> (any Failpoint)? { defects.first { $0.name == name } }

  /// Defects that each break one rule of sync, or make a phase follow another one that it must not follow.
  ///
  /// A check must find each of them, and must say so: the first one that fires.
  package static let breaking: [(rule: CheckedRule, defects: [SyncDefect])] = [
    (.sync(1), [.markAhead, .noticeReadEarly]),
    (.sync(2), [.judgedByNow]),
    (.sync(3), [.acknowledgedBeforeAsking]),
    (.sync(4), [.groupStoredInParts, .componentPublishedInParts]),
    (.sync(5), [.groupSentInParts]),
    (.sync(6), [.cursorAhead]),
    (.sync(7), [.checkpointPassesLacking]),
    (.sync(8), [.renewIgnored]),
    (.sync(9), [.queueNotDropped]),
    (.sync(10), [.gateNotAsked]),
    (.transition, [.settledBeforeAsked]),
  ]

  /// What a defect breaks that checks hold; `nil` where it is found by what it does to a world.
  package static func rule(brokenBy defect: any Failpoint) -> CheckedRule? {
    breaking.first { $0.defects.contains { $0.name == defect.name } }?.rule
  }

  /// Whether a run with a planted defect shows it.
  package static func shows(_ defect: any Failpoint, _ violation: Violation) -> Bool {
    rule(brokenBy: defect).map { violation.rule == $0 } ?? true
  }

  /// What a seed comes to with nothing planted.
  private struct Plain {
    let holds: Bool
    let reached: Set<String>
  }

  private let size: Int
  private let scripts: [String: Script]
  private var plain: [UInt64: Plain] = [:]

  /// Makes a search among `scripts`, which are keyed by the names of defects, and then among seeds.
  ///
  /// The scripts of the seeds have `size` percent of the usual size.
  package init(size: Int = 100, scripts: [String: Script] = [:]) {
    self.size = size
    self.scripts = scripts
  }

  /// The first script in which a defect breaks a promise that holds without the defect.
  ///
  /// It tries the defect's own script first, and then the seeds up to `limit`.
  ///
  /// - Returns: The script and the broken promise; `nil` when no script breaks one.
  package mutating func find(
    _ defect: any Failpoint, limit: UInt64
  ) -> (script: Script, violation: Violation)? {
    if let script = scripts[defect.name], let violation = play(script, [defect]),
      Self.shows(defect, violation), play(script) == nil
    {
      return (script, violation)
    }
    guard limit > 0 else { return nil }
    for seed in 1...limit {
      let plain = play(seed)
      guard plain.holds, Self.place(of: defect).map(plain.reached.contains) ?? true else { continue }
      let script = Swarm.script(seed: seed, size: size)
      if let violation = play(script, [defect]), Self.shows(defect, violation) { return (script, violation) }
    }
    return nil
  }

  private func play(_ script: Script, _ defects: [any Failpoint] = []) -> Violation? {
    Simulation().run(script, defects: defects).violation
  }

  private mutating func play(_ seed: UInt64) -> Plain {
    if let known = plain[seed] { return known }
    let outcome = Simulation().run(Swarm.script(seed: seed, size: size))
    let result = Plain(holds: outcome.violation == nil, reached: outcome.reached)
    plain[seed] = result
    return result
  }

  /// What has to happen in a run for a defect to matter, where there is such a thing.
  private static func place(of defect: any Failpoint) -> String? {
    switch defect {
    case let defect as StoreDefect: place(of: defect)
    case let defect as SyncDefect: place(of: defect)
    case is QueryDefect: Sometimes.observed.rawValue
    default: nil
    }
  }

  private static func place(of defect: StoreDefect) -> String? {
    switch defect {
    case .damagedRecordSent: Sometimes.rotted.rawValue
    case .successorNotChecked: SyncPoint.successorLeftOut.name
    case .evictedDeletionForgotten: StorePoint.deletionCertified.name
    default: nil
    }
  }

  private static func place(of defect: SyncDefect) -> String? {
    switch defect {
    case .siteNotRenewed: SyncPoint.laterSelfMet.name
    case .runUnchecked: SyncPoint.runLeftOut.name
    case .groupStoredInParts, .missingBaseIgnored: SyncPoint.groupLeftOut.name
    case .componentPublishedInParts: SyncPoint.stagedPublished.name
    case .announcementForgotten: SyncPoint.pulledAtOnce.name
    case .repairSkipped: SyncPoint.repaired.name
    case .unaskedInParts: SyncPoint.sentUnasked.name
    case .cursorAhead, .ownLogNotTold, .policyPrintForgotten, .evictionsForgotten:
      SyncPoint.cursorFollowed.name
    case .policyChangeIgnored: Sometimes.scopeChangedInSession.rawValue
    case .evictionNotAnswered: Sometimes.evictedUnderSubscription.rawValue
    case .interestKept: Sometimes.subscribedInSession.rawValue
    case .certificatesNotAskedFor: Sometimes.forgotten.rawValue
    case .checksumIgnored, .framesNotNumbered: Sometimes.garblingWasNoticed.rawValue
    case .lettingGoUnasked, .leftStays: SyncPoint.letGo.name
    default: nil
    }
  }
}
