import CRDTCore
import SimKit
import Testing

/// A simulator that finds no planted defect proves nothing; the rest of the list is tried by `Tools/simulate/run`.
@Suite struct DefectTests {
  @Test(arguments: [Probe.Defect.notForwarded, .acknowledgementLost, .toldBeforeDurable])
  func `a planted defect is found and made short`(defect: Probe.Defect) throws {
    var search = DefectSearch(size: 40)
    let finding = search.find(defect, limit: 60)
    let found = try #require(finding)
    var attempts = 0
    let script = Swarm.script(seed: found.seed, size: 40)
    var shrinker = Shrinker(script, breaking: found.violation.invariant, until: { attempts > 150 }) {
      attempts += 1
      return Simulation().run($0, defects: [defect]).violation
    }
    shrinker.shrink()
    let short = shrinker.script
    #expect(short.events.count <= max(script.events.count / 2, 12))
    let again = try Script(json: try short.json())
    #expect(Simulation().run(again, defects: [defect]).violation?.invariant == found.violation.invariant)
    #expect(Simulation().run(again).violation == nil)
  }

  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func `what a peer keeps to itself makes no difference to others`(seed: UInt64) {
    let violation = PairedRun().violation(seed: seed, size: 60)
    #expect(violation == nil, "seed \(seed): \(violation?.description ?? "")")
  }

  @Test func `what leaks makes a difference`() {
    let found = (1...10 as ClosedRange<UInt64>).contains {
      PairedRun().violation(seed: $0, size: 60, defects: [.gateNotAsked])?.invariant == .scopes
    }
    #expect(found)
  }
}
