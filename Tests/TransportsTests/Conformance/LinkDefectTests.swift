import LinkTesting
import Links
import Testing

/// The checks are checked: each defect breaks a promise, and the link without one breaks none.
@Suite(.serialized, .timeLimit(.minutes(15))) struct LinkDefectTests {
  private func conformance(_ defect: LinkDefect, patience: Duration) -> LinkConformance {
    var options = LinkConformanceOptions()
    options.patience = patience
    return LinkConformance(options) {
      let (near, far) = MemoryLink.pair()
      return LinkPair(DefectiveLink(near, defect), DefectiveLink(far, defect))
    }
  }

  @Test(arguments: LinkDefect.allCases.filter { $0 != .none })
  func `a defect is found`(_ defect: LinkDefect) async throws {
    // A defect shows in the first attempt, or never, however long one waits. On a busy machine it may take
    // another attempt.
    let promise = try #require(defect.promise)
    for _ in 0..<20 {
      if await conformance(defect, patience: .milliseconds(500)).brokenPromises(promise) != [] { return }
    }
    Issue.record("\(defect) was not found")
  }

  @Test func `a link without a defect is found to be good`() async {
    let broken = await conformance(.none, patience: .seconds(60)).brokenPromises()
    #expect(broken == [])
  }

  @Test func `what was found is said in a sentence that names the promise`() async throws {
    let broken = await conformance(.losesAPiece, patience: .milliseconds(500))
      .brokenPromises(.bytesArriveInOrder)
    let first = try #require(broken.first)
    #expect(first.description.hasPrefix("bytesArriveInOrder: "))
  }

  @Test func `links that cannot be made break the promise too`() async {
    let conformance = LinkConformance { throw LinkError(.refused, "Nobody is there") }
    let broken = await conformance.brokenPromises(.bytesArriveInOrder)
    #expect(broken.map(\.problem) == ["The links could not be made: Nobody is there"])
  }
}
