import DunlinKit
import Foundation
import LinkTesting
import TestKit
import Testing

/// What the page about links says, with the very link that it shows.
@Suite(.timeLimit(.minutes(15))) struct LinksGuideTests {
  /// Both ends of a pair of sockets.
  private static func sockets() throws -> (SocketLink, SocketLink) {
    var sockets: [Int32] = [0, 0]
    #if canImport(Darwin)
      let kind = SOCK_STREAM
    #else
      let kind = Int32(SOCK_STREAM.rawValue)
    #endif
    guard socketpair(AF_UNIX, kind, 0, &sockets) == 0 else { throw LinkError(.system, "No sockets") }
    return (SocketLink(sockets[0], address: "far"), SocketLink(sockets[1], address: "near"))
  }

  @Test(arguments: LinkPromise.allCases)
  func `the link of the page keeps its promises`(_ promise: LinkPromise) async {
    let conformance = LinkConformance {
      let (near, far) = try Self.sockets()
      return LinkPair(near, far)
    }
    let broken = await conformance.brokenPromises(promise)
    #expect(broken == [])
  }

  @Test func `two databases sync over it`() async throws {
    let (tablet, phone) = (try Peer("tablet"), try Peer("phone"))
    for peer in [tablet, phone] { try peer.dunlin.startSync() }
    let (near, far) = try Self.sockets()
    try tablet.dunlin.sync.adopt(near, direction: .outgoing)
    try phone.dunlin.sync.adopt(far, direction: .incoming)
    let subscription = phone.dunlin.store["cars"].findAll().subscribe()
    try await tablet.dunlin.store["cars"].upsert(["_id": "a", "color": "red"])
    try await phone.wait(for: "cars") { $0.map(\.id) == ["a"] }
    subscription.cancel()
    for peer in [tablet, phone] { try peer.dunlin.close() }
  }
}
