import CRDTCore
import DocStore
import QueryEngine
import SyncProtocol
import TestKit
import Testing
import Transports

@Suite(.timeLimit(.minutes(15))) struct PeerNetworkTests {
  @Test func `two peers sync over TCP, and what one writes reaches the other`() async throws {
    let (left, right) = (try TestPeer("left"), try TestPeer("right"))
    try await left.fill("things", 0..<2_000)
    left.network.subscribe(to: try everything("things"))
    right.network.subscribe(to: try everything("things"))
    try left.network.start()
    let port = try #require(try left.network.listen())
    right.network.connect(host: "127.0.0.1", port: port)
    try right.network.start()
    try await right.wait(with: left) { try right.documents("things") == left.documents("things") }
    try await right.set("things", 5, "name", .string("from the right"))
    try await left.wait(with: right) { try right.documents("things") == left.documents("things") }
    let connection = try #require(right.network.connections.first)
    #expect(connection.peer?.name == "left")
    #expect(connection.direction == .outgoing)
    #expect(connection.endpoint.address == "127.0.0.1:\(port)")
    #expect(connection.statistics.documentsReceived >= 2_000)
    #expect(left.network.connections.map(\.peer?.name) == ["right"])
    await left.end()
    await right.end()
    #expect(left.network.connections.isEmpty && right.network.connections.isEmpty)
  }

  @Test func `what is written while a first sync runs arrives too, over many sessions at once`() async throws
  {
    let hub = try TestPeer("hub")
    let spokes = try (0..<6).map { try TestPeer("spoke \($0)") }
    try await hub.fill("things", 0..<6_000)
    try hub.network.start()
    let port = try #require(try hub.network.listen())
    for spoke in spokes {
      spoke.network.subscribe(to: try everything("things"))
      spoke.network.connect(host: "127.0.0.1", port: port)
      try spoke.network.start()
    }
    // Steps on event loops, of these changes, meet steps on workers, of the first sync.
    for round in 0..<200 {
      try await hub.set("things", round * 29, "name", .string("changed in round \(round)"))
      if round % 20 == 0 { try await hub.fill("things", 6_000 + round..<6_010 + round) }
    }
    let expected = try hub.documents("things")
    #expect(expected.count == 6_100)
    for spoke in spokes {
      try await spoke.wait { try spoke.documents("things") == expected }
      await spoke.end()
    }
    await hub.end()
  }

  @Test func `an intruder's bytes end its connection and nothing else`() async throws {
    let (left, right) = (try TestPeer("left"), try TestPeer("right"))
    try await left.fill("things", 0..<10)
    try left.network.start()
    let events = left.network.events()
    let port = try #require(try left.network.listen())
    let intruder = try await TCPConnector(host: "127.0.0.1", port: port).connect()
    try await intruder.send([Array("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n".utf8)])
    var end: SessionEnd?
    for await event in events {
      guard case .disconnected(let connection, let reason) = event else { continue }
      expect(connection.peer == nil)
      end = reason
      break
    }
    #expect(end?.sessionCode == .malformed)
    right.network.subscribe(to: try everything("things"))
    right.network.connect(host: "127.0.0.1", port: port)
    try right.network.start()
    try await right.wait { try right.documents("things").count == 10 }
    await left.end()
    await right.end()
  }

  @Test func `a port in use is an error and leaves nothing running`() async throws {
    let taken = try await TCPListener.bind()
    let peer = try TestPeer("peer")
    _ = try peer.network.listen()
    _ = try peer.network.listen(port: taken.port)
    #expect(await linkError { try peer.network.start() }?.code == .portInUse)
    #expect(peer.network.listeningPorts.isEmpty)
    await taken.close()
    try peer.network.start()
    #expect(peer.network.listeningPorts.count == 2)
    await peer.end()
  }

  @Test func `a peer that comes back on the same port is found again`() async throws {
    let (left, right) = (try TestPeer("left"), try TestPeer("right"))
    right.network.subscribe(to: try everything("things"))
    try left.network.start()
    let port = try #require(try left.network.listen())
    right.network.connect(host: "127.0.0.1", port: port)
    try right.network.start()
    try await right.wait { $0.first?.peer != nil }
    await left.network.stop()
    #expect(left.network.connections.isEmpty)
    try await right.wait { $0.isEmpty }
    try await left.fill("things", 0..<5)
    // The address asked for was any free port; the peer that dials knows the old one.
    let again = PeerNetwork(setup: left.setup)
    _ = try again.listen(port: port)
    try again.start()
    try await right.wait { try right.documents("things").count == 5 }
    await again.stop()
    await left.end()
    await right.end()
  }

  @Test func `a forgotten address is not dialed again`() async throws {
    let (left, right) = (try TestPeer("left"), try TestPeer("right"))
    try left.network.start()
    let port = try #require(try left.network.listen())
    right.network.connect(host: "127.0.0.1", port: port)
    try right.network.start()
    try await right.wait { $0.first?.peer != nil }
    right.network.disconnect(host: "127.0.0.1", port: port)
    try await left.wait { $0.isEmpty }
    try await right.wait { $0.isEmpty }
    await left.end()
    await right.end()
  }

  @Test func `links made elsewhere are served until the network stops`() async throws {
    let (left, right) = (try TestPeer("left"), try TestPeer("right"))
    let links = MemoryLink.pair()
    #expect(!left.network.adopt(links.0, direction: .outgoing))
    #expect(await linkError { _ = try await links.1.receive() }?.code == .disconnected)
    try left.network.start()
    try right.network.start()
    try await left.fill("things", 0..<3)
    right.network.subscribe(to: try everything("things"))
    let second = MemoryLink.pair()
    #expect(left.network.adopt(second.0, direction: .outgoing))
    #expect(right.network.adopt(second.1, direction: .incoming))
    try await right.wait { try right.documents("things").count == 3 }
    await left.end()
    try await right.wait { $0.isEmpty }
    await right.end()
  }
}
