import DunlinKit
import TestKit
import Testing

/// The ports that a peer is given, over stop and start.
@Suite(.timeLimit(.minutes(15))) struct PortTests {
  @Test func `a port that was found is kept over stop and start`() throws {
    let peer = try Peer()
    try peer.dunlin.listen()
    try peer.dunlin.listen()
    try peer.dunlin.listenForWebSockets()
    try peer.dunlin.startSync()
    let ports = peer.dunlin.listeningPorts
    #expect(Set(ports).count == 3)
    for _ in 0..<2 {
      peer.dunlin.stopSync()
      expect(peer.dunlin.listeningPorts.isEmpty)
      try peer.dunlin.startSync()
      expectEqual(peer.dunlin.listeningPorts, ports)
    }
    // One that was opened while sync ran, too.
    try peer.dunlin.listen()
    let all = peer.dunlin.listeningPorts
    peer.dunlin.stopSync()
    try peer.dunlin.startSync()
    #expect(peer.dunlin.listeningPorts == all && all.count == 4)
    #expect(peer.dunlin.transportConditions.isEmpty)
  }

  @Test func `each address says what connects there`() throws {
    let peer = try Peer()
    try peer.dunlin.listen()
    try peer.dunlin.listenForWebSockets()
    #expect(peer.dunlin.listeningAddresses.isEmpty)
    try peer.dunlin.startSync()
    let addresses = peer.dunlin.listeningAddresses
    #expect(addresses.map(\.kind) == ["tcp", "ws"] && addresses.allSatisfy { $0.host == "127.0.0.1" })
    #expect(addresses.map(\.port).sorted() == peer.dunlin.listeningPorts)
    let first = try #require(addresses.first)
    #expect("\(first)" == "tcp://127.0.0.1:\(first.port)")
  }

  @Test func `one that was taken meanwhile gives way to another, and a condition says so`() throws {
    let (peer, other) = (try Peer(), try Peer())
    try peer.dunlin.listen()
    try peer.dunlin.startSync()
    let port = try #require(peer.dunlin.listeningPorts.first)
    peer.dunlin.stopSync()
    try other.dunlin.listen(port: port)
    try other.dunlin.startSync()
    try peer.dunlin.startSync()
    let moved = try #require(peer.dunlin.listeningPorts.first)
    #expect(moved != port)
    #expect(peer.dunlin.transportConditions == [.portTaken(port)])
    #expect(peer.log.lines(with: "port \(port)").count == 1)
    peer.dunlin.stopSync()
    #expect(peer.dunlin.transportConditions.isEmpty)
    // It is the new one that is kept from then on.
    try peer.dunlin.startSync()
    #expect(peer.dunlin.listeningPorts == [moved])
    #expect(peer.dunlin.transportConditions.isEmpty)
  }
}
