import QueryEngine
import SyncProtocol
import Testing
import Transports

/// What a network keeps of peers that have gone.
@Suite(.timeLimit(.minutes(15))) struct DepartedPeersTests {
  /// Has a peer that subscribes to so many queries of about 500 bytes come and go.
  private func visit(_ hub: TestPeer, _ port: Int, _ name: String, queries: Int) async throws {
    let peer = try TestPeer(name)
    let text = String(repeating: "x", count: 450)
    peer.network.subscribe(
      to: try (0..<queries).map {
        try SubscriptionQuery(collection: "things", builder: "name == '\(text)\($0)'")
      })
    peer.network.connect(host: "127.0.0.1", port: port)
    try peer.network.start()
    while !hub.network.standings.contains(where: { $0.isConnected && $0.delivery.isInterestKnown }) {
      try await Task.sleep(for: .milliseconds(5))
    }
    await peer.end()
    while hub.network.standings.contains(where: \.isConnected) { try await Task.sleep(for: .milliseconds(5)) }
  }

  @Test func `what they subscribed to is bounded in bytes, for each and for all`() async throws {
    let hub = try TestPeer("hub")
    try hub.network.start()
    let port = try #require(try hub.network.listen())
    for number in 0..<7 { try await visit(hub, port, "peer \(number)", queries: 100) }
    let kept = hub.network.standings
    #expect(kept.map(\.peer.name) == (0..<7).map { "peer \($0)" })
    // The first ones were forgotten, the last are known with all of their queries.
    let known = kept.filter(\.delivery.isInterestKnown)
    let bytes = known.reduce(0) { $0 + $1.delivery.interestBytes }
    #expect(known.count < 7 && known.map(\.peer.name) == kept.suffix(known.count).map(\.peer.name))
    #expect(bytes <= DepartedPeers.interestBytes && bytes > DepartedPeers.interestBytes / 2)
    #expect(known.allSatisfy { $0.delivery.queries.count == 100 })
    // One that takes a quarter by itself is not kept.
    try await visit(hub, port, "greedy", queries: 200)
    let last = try #require(hub.network.standings.last)
    #expect(last.peer.name == "greedy" && !last.delivery.isInterestKnown)
    await hub.end()
  }
}
