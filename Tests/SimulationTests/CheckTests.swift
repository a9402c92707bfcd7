import Failpoints
import SimKit
import SyncProtocol
import Testing

/// Each rule of `Documentation/Sync.md` and each transition has a check that fires if a defect breaks it.
@Suite struct CheckTests {
  /// A defect, and what it breaks.
  struct Planted: Sendable, CustomTestStringConvertible {
    let rule: CheckedRule
    let defect: SyncDefect

    var testDescription: String { "\(rule): \(defect.name)" }
  }

  static let planted = DefectSearch.breaking.flatMap { broken in
    broken.defects.map { Planted(rule: broken.rule, defect: $0) }
  }

  @Test(arguments: planted)
  func `the first check that fires is that of the rule that a defect breaks`(planted: Planted) throws {
    let kept = try #require(KeptScript.all(in: "defects").first { $0.name == planted.defect.name })
    let script = try kept.script
    var simulation = Simulation()
    simulation.firing = .isIgnored
    let fired = try #require(simulation.run(script, defects: [planted.defect]).fired)
    #expect(fired.rule == planted.rule, "\(fired)")
    #expect(fired.seed == script.seed && !fired.phase.isEmpty && !fired.text.isEmpty)
    let plain = simulation.run(script)
    #expect(plain.fired == nil && plain.violation == nil, "\(plain.fired?.description ?? "")")
  }

  @Test func `each rule of the page has a defect that breaks it, and so have the transitions`() {
    let rules = DefectSearch.breaking.map(\.rule)
    #expect(Set(rules) == Set((1...10).map { CheckedRule.sync($0) } + [.transition]) && rules.count == 11)
  }

  @Test func `a check that fires breaks a run with defects, and names its rule`() throws {
    let script = Swarm.script(seed: 1, size: 12)
    let violation = Simulation().run(script, defects: [SyncDefect.settledBeforeAsked]).violation
    #expect(violation?.invariant == .checks && violation?.rule == .transition)
    #expect(violation?.name == "checks, transition")
  }

  @Test func `a check that fires ends the process, and says rule, phase and seed`() async throws {
    let end = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var simulation = Simulation()
      simulation.firing = .endsProcess
      _ = simulation.run(Swarm.script(seed: 1, size: 12), defects: [SyncDefect.settledBeforeAsked])
    }
    let text = String(decoding: try #require(end).standardErrorContent, as: UTF8.self)
    #expect(text.contains("A check fired: transition in phase serving asking, seed 1: it leads to closing"))
  }
}
