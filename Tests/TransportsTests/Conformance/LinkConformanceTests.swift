import LinkTesting
import Testing

/// Every kind of link that is built in keeps every promise; one at a time, so that none waits for the processor.
@Suite(.serialized, .timeLimit(.minutes(10))) struct LinkConformanceTests {
  @Test(arguments: LinkKind.allCases) func `keeps its promises`(_ kind: LinkKind) async {
    let broken = await LinkConformance(kind.options) { try await kind.pair() }.brokenPromises()
    #expect(broken == [])
  }
}
