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
}
