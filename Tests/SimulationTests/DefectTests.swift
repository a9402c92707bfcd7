import Failpoints
import SimKit
import SyncProtocol
import Testing

/// A simulator that finds no planted defect proves nothing.
@Suite struct DefectTests {
  @Test(arguments: KeptScript.some(in: "defects", oneIn: 8))
  func `a planted defect breaks its script`(kept: KeptScript) throws {
    let defect = try #require(DefectSearch.defect(named: kept.name))
    let script = try kept.script
    #expect(Simulation().run(script, defects: [defect]).violation != nil)
    let violation = Simulation().run(script).violation
    #expect(violation == nil, "\(kept.name): \(violation?.description ?? "")")
  }

  @Test func `each planted defect has its script, or is said to be found by none`() {
    let kept = Set(KeptScript.all(in: "defects").map(\.name))
    #expect(kept == Set(DefectSearch.defects.map(\.name)).subtracting(DefectSearch.unfound))
  }

  @Test func `a planted defect is found and made short`() throws {
    let defect = SyncDefect.notForwarded
    var search = DefectSearch(size: 40)
    let finding = search.find(defect, limit: 60)
    let found = try #require(finding)
    var attempts = 0
    var shrinker = Shrinker(found.script, breaking: found.violation, until: { attempts > 150 }) {
      attempts += 1
      return Simulation().run($0, defects: [defect]).violation
    }
    shrinker.shrink()
    let short = shrinker.script
    #expect(short.events.count <= max(found.script.events.count / 2, 12))
    let again = try Script(json: try short.json())
    #expect(Simulation().run(again, defects: [defect]).violation?.invariant == found.violation.invariant)
    #expect(Simulation().run(again).violation == nil)
  }

  @Test(arguments: 1...2 as ClosedRange<UInt64>)
  func `what a peer keeps to itself makes no difference to others`(seed: UInt64) {
    let violation = PairedRun().violation(seed: seed, size: 60)
    #expect(violation == nil, "seed \(seed): \(violation?.description ?? "")")
  }

  @Test func `what leaks makes a difference`() {
    let found = (1...10 as ClosedRange<UInt64>).contains {
      PairedRun().violation(seed: $0, size: 60, defects: [SyncDefect.gateNotAsked])?.invariant == .scopes
    }
    #expect(found)
  }
}
