import CRDTCore
import DocStore
import SyncProtocol
import Testing
import Transports

@Suite(.timeLimit(.minutes(15))) struct CloneNetworkTests {
  @Test func `networks of twin stores part by themselves, and sync`() async throws {
    let left = try TestPeer("left")
    try await left.fill("things", 0..<10)
    let right = try TestPeer("right", twinOf: left)
    let site = left.store.site
    #expect(right.store.site == site)
    try await left.set("things", 1, "left", .int(1))
    try await right.set("things", 2, "right", .int(1))
    for peer in [left, right] { peer.network.subscribe(to: try everything("things")) }
    try left.network.start()
    let port = try #require(try left.network.listen())
    right.network.connect(host: "127.0.0.1", port: port)
    try right.network.start()
    try await right.wait(with: left) { try right.documents("things") == left.documents("things") }
    #expect(Set([site, left.store.site, right.store.site]).count == 3)
    #expect(try left.documents("things")[DocumentID(.int(2))]?["right"] == .int(1))
    #expect(try left.documents("things")[DocumentID(.int(1))]?["left"] == .int(1))
    try await right.set("things", 1, "both", .int(1))
    try await left.set("things", 1, "too", .int(1))
    try await right.wait(with: left) { try right.documents("things") == left.documents("things") }
    #expect(try right.documents("things")[DocumentID(.int(1))]?["too"] == .int(1))
    await left.end()
    await right.end()
  }

  /// Neither meets the other: a third one, at which both want to be, tells the second that it is a copy.
  @Test func `a twin of a peer that is connected is told so without any proof, and comes as another`()
    async throws
  {
    let (hub, first) = (try TestPeer("hub"), try TestPeer("first"))
    try await first.fill("things", 0..<5)
    let second = try TestPeer("second", twinOf: first)
    let site = first.store.site
    #expect(second.store.site == site)
    hub.network.subscribe(to: try everything("things"))
    try hub.network.start()
    let port = try #require(try hub.network.listen())
    for peer in [first, second] {
      peer.network.connect(host: "127.0.0.1", port: port)
      try peer.network.start()
      if peer === first { try await hub.wait { try hub.documents("things").count == 5 } }
    }
    try await second.set("things", 7, "own", .int(1))
    try await hub.wait { try hub.documents("things").count == 6 }
    try await hub.wait(forConnections: { Set($0.compactMap { $0.peer?.name }) == ["first", "second"] })
    #expect(first.store.site == site)
    #expect(second.store.site != site)
    for peer in [first, second, hub] { await peer.end() }
  }
}
