import DocStore
package import Failpoints
import Foundation
import SyncProtocol

/// What many runs came to.
package struct Report: Codable {
  package private(set) var seeds = 0
  package private(set) var violations = 0
  /// Seeds that break a promise, as is known.
  package private(set) var known = 0
  package private(set) var operations = 0
  package private(set) var events = 0
  package private(set) var reached: Set<String> = []
  /// How long the runs took, all in all.
  package private(set) var seconds = 0.0

  package init() {}

  package mutating func add(_ outcome: Simulation.Outcome, isKnown: Bool = false, seconds: Double) {
    seeds += 1
    operations += outcome.tally.operations
    events += outcome.tally.events
    self.seconds += seconds
    if outcome.violation != nil { if isKnown { known += 1 } else { violations += 1 } }
    reached.formUnion(outcome.reached)
  }

  package mutating func add(_ other: Report) {
    seeds += other.seeds
    violations += other.violations
    known += other.known
    operations += other.operations
    events += other.events
    seconds += other.seconds
    reached.formUnion(other.reached)
  }

  /// One line for a log; the rate is that of one process.
  package var line: String {
    let rate = Int(Double(operations) / max(seconds, 0.001))
    let known = known == 0 ? "" : " and \(known) known"
    return
      "seeds \(seeds), operations \(operations) (\(rate)/s a process), events \(events), "
      + "violations \(violations)\(known), points \(reached.count)/\(Self.points.count), "
      + "in \(Int(seconds)) s of processes"
  }

  /// Points that no seed has reached.
  package var missed: [String] { Self.points.filter { !reached.contains($0) } }

  /// The coverage points of all layers.
  package static let coveragePoints: [any CoveragePoint] = StorePoint.allCases + SyncPoint.allCases

  private static let points = coveragePoints.map(\.name) + Sometimes.allCases.map(\.rawValue)
}
