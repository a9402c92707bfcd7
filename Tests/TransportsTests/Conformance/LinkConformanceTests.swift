import LinkTesting
import Testing

/// Every built-in kind of link keeps every promise; two run at a time, so that none waits for the processor.
@Suite(.timeLimit(.minutes(15))) struct LinkConformanceTests {
  @Suite(.serialized) struct Streams {
    @Test(arguments: LinkKind.allCases.filter { !$0.hasPackets })
    func `keeps its promises`(_ kind: LinkKind) async {
      await LinkConformanceTests.expectPromises(of: kind)
    }
  }

  @Suite(.serialized) struct Packets {
    @Test(arguments: LinkKind.allCases.filter(\.hasPackets))
    func `keeps its promises`(_ kind: LinkKind) async {
      await LinkConformanceTests.expectPromises(of: kind)
    }
  }

  fileprivate static func expectPromises(of kind: LinkKind) async {
    let broken = await LinkConformance(kind.options) { try await kind.pair() }.brokenPromises()
    #expect(broken == [])
  }
}
