import Failpoints
import Testing

/// What is planted and counted in a task.
@Suite struct FailpointTests {
  private enum Defect: UInt8, Failpoint { case first = 200, last = 255 }

  private enum Point: UInt8, CoveragePoint { case first = 0, last = 255 }

  @Test func `only what a plan plants is planted, and only under it`() {
    #expect(!Defect.first.isPlanted && !Defect.last.isPlanted)
    FailpointPlan(planting: [Defect.last]).run {
      #expect(!Defect.first.isPlanted && Defect.last.isPlanted)
      FailpointPlan().run { #expect(!Defect.last.isPlanted) }
      #expect(Defect.last.isPlanted)
    }
    #expect(!Defect.last.isPlanted)
  }

  @Test func `a task that starts alone has no plan, and one that is a part of another has its plan`() async {
    let (own, child) = FailpointPlan(planting: [Defect.first]).run {
      (Task.detached { Defect.first.isPlanted }, Task { Defect.first.isPlanted })
    }
    #expect(await !own.value)
    #expect(await child.value)
  }

  @Test func `a plan counts what is reached under it`() {
    let (outer, inner) = (FailpointPlan(), FailpointPlan())
    Point.first.reached()
    outer.run {
      Point.first.reached()
      Point.last.reached()
      inner.run { Point.first.reached() }
      Point.last.reached()
    }
    #expect(outer.count(of: Point.first) == 1 && outer.count(of: Point.last) == 2)
    #expect(inner.count(of: Point.first) == 1 && inner.count(of: Point.last) == 0)
  }

  @Test func `a key is known by the name of its case`() {
    #expect(Defect.allCases.map(\.name) == ["first", "last"])
  }
}
