package import CRDTCore
import Foundation

/// What many runs came to.
package struct Report {
  private let start = Date()
  package private(set) var seeds = 0
  package private(set) var violations = 0
  package private(set) var operations = 0
  package private(set) var events = 0
  package private(set) var reached: Set<Probe.Point> = []
  package private(set) var met: Set<Sometimes> = []

  package init() {}

  package mutating func add(_ outcome: Simulation.Outcome) {
    seeds += 1
    operations += outcome.tally.operations
    events += outcome.tally.events
    if outcome.violation != nil { violations += 1 }
    reached.formUnion(outcome.reached.keys)
    met.formUnion(outcome.met)
  }

  package var seconds: Double { Date().timeIntervalSince(start) }

  /// One line for a log.
  package var line: String {
    let rate = Int(Double(operations) / max(seconds, 0.001))
    let points = Probe.Point.allCases.count + Sometimes.allCases.count
    return
      "seeds \(seeds), operations \(operations) (\(rate)/s), events \(events), violations \(violations), "
      + "points \(reached.count + met.count)/\(points), in \(Int(seconds)) s"
  }

  /// Points that no seed has reached.
  package var missed: [String] {
    Probe.Point.allCases.filter { !reached.contains($0) }.map(\.rawValue)
      + Sometimes.allCases.filter { !met.contains($0) }.map(\.rawValue)
  }
}
