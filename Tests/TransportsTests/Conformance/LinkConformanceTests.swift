import LinkTesting
import Testing

/// Every kind of link that is built in keeps every promise; one at a time, so that none waits for the processor.
@Suite(.serialized, .timeLimit(.minutes(10))) struct LinkConformanceTests {
  @Test(arguments: LinkKind.allCases, LinkPromise.allCases)
  func `keeps its promise`(_ kind: LinkKind, _ promise: LinkPromise) async {
    let conformance = LinkConformance(kind.options) { try await kind.pair() }
    let broken = await conformance.brokenPromises(promise)
    #expect(broken == [])
  }
}
