import Failpoints
import Testing

/// What a check does whose condition does not hold.
@Suite struct CheckTests {
  @Test func `a plan keeps the first check that fires, with rule, phase and seed`() throws {
    let plan = FailpointPlan(seed: 7, firing: .isRecorded)
    plan.run {
      check(.sync(1), true, phase: "holds", "this is true")
      check(.sync(4), false, phase: "applying", "half of a transaction")
      check(.transition, false, phase: "idle", "it leads to open")
    }
    let fired = try #require(plan.fired)
    #expect(fired.rule == .sync(4) && fired.phase == "applying" && fired.seed == 7)
    #expect("\(fired)" == "rule 4 in phase applying, seed 7: half of a transaction")
  }

  @Test func `what a check says is put together only when it fires`() {
    var count = 0
    func text() -> String {
      count += 1
      return "text"
    }
    let plan = FailpointPlan(firing: .isRecorded)
    plan.run {
      check(.transition, true, phase: text(), text())
      #expect(count == 0 && plan.fired == nil)
      check(.transition, false, phase: text(), text())
    }
    #expect(count == 2 && plan.fired?.seed == nil)
  }

  @Test func `a check that fires without a plan ends the process`() async throws {
    let end = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      check(.sync(9), false, phase: "sending", "a frame of 9 bytes")
    }
    let text = String(decoding: try #require(end).standardErrorContent, as: UTF8.self)
    #expect(text.contains("A check fired: rule 9 in phase sending, no seed: a frame of 9 bytes"))
  }
}
