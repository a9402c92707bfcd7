import SimKit
import Testing

/// Whole worlds under seeds: what is promised holds in each.
@Suite struct SimulationTests {
  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func `a world under a seed keeps every promise`(seed: UInt64) {
    let outcome = Simulation().run(Swarm.script(seed: seed, size: 60))
    #expect(outcome.violation == nil, "seed \(seed): \(outcome.violation?.description ?? "")")
  }

  @Test(arguments: [3, 8] as [UInt64])
  func `a seed goes the same way each time`(seed: UInt64) {
    let script = Swarm.script(seed: seed, size: 60)
    let (first, second) = (Simulation().run(script), Simulation().run(script))
    #expect(first.trace == second.trace)
    #expect(first.tally.events == second.tally.events)
  }

  @Test func `a script that was kept is the same one`() throws {
    let script = Swarm.script(seed: 5)
    #expect(try Script(json: try script.json()) == script)
  }
}
