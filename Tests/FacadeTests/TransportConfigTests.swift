import DunlinKit
import TestKit
import Testing

@Suite(.timeLimit(.minutes(15))) struct TransportConfigTests {
  let tablet: Peer
  let phone: Peer

  init() throws {
    tablet = try Peer("tablet")
    phone = try Peer("phone")
  }

  private func connected(_ peer: Peer, to names: [String]) async {
    for await graph in peer.dunlin.presence.graphs
    where graph.remotePeers.filter({ !$0.connections.isEmpty }).map(\.deviceName) == names { return }
  }

  @Test func `a new configuration has everything off`() throws {
    #expect(tablet.dunlin.transportConfig == DunlinTransportConfig())
    try tablet.dunlin.startSync()
    #expect(tablet.dunlin.listeningPorts.isEmpty)
  }

  @Test func `peers meet, part and meet again as the configuration changes while sync runs`() async throws {
    try phone.dunlin.startSync()
    try tablet.dunlin.updateTransportConfig { $0.listen.tcp.isEnabled = true }
    #expect(tablet.dunlin.listeningPorts.isEmpty)
    try tablet.dunlin.startSync()
    let port = try #require(tablet.dunlin.listeningPorts.first)
    try phone.dunlin.updateTransportConfig { $0.connect.tcpServers = ["127.0.0.1:\(port)"] }
    await connected(phone, to: ["tablet"])
    try phone.dunlin.updateTransportConfig { $0.connect.tcpServers = [] }
    await connected(phone, to: [])
    // What has not changed stays: the port is the same.
    try tablet.dunlin.updateTransportConfig { $0.listen.webSocket.isEnabled = true }
    let other = try #require(tablet.dunlin.listeningPorts.first { $0 != port })
    #expect(tablet.dunlin.listeningPorts.contains(port))
    try phone.dunlin.updateTransportConfig { $0.connect.webSocketURLs = ["ws://127.0.0.1:\(other)/"] }
    await connected(phone, to: ["tablet"])
    #expect(phone.dunlin.presence.graph.remotePeers.first?.connections.map(\.kind) == ["ws"])
    // Who is not listened for any more keeps its connection.
    try tablet.dunlin.updateTransportConfig { $0.listen = .init() }
    #expect(tablet.dunlin.listeningPorts.isEmpty)
    #expect(phone.dunlin.presence.graph.remotePeers.first?.connections.count == 1)
  }

  @Test func `a port passes from one carrier to the other`() async throws {
    try tablet.dunlin.updateTransportConfig { $0.listen.tcp.isEnabled = true }
    try tablet.dunlin.startSync()
    let port = try #require(tablet.dunlin.listeningPorts.first)
    try tablet.dunlin.updateTransportConfig { config in
      config.listen.tcp.isEnabled = false
      config.listen.webSocket.isEnabled = true
      config.listen.webSocket.port = port
    }
    #expect(tablet.dunlin.listeningPorts == [port])
    phone.dunlin.connect(host: "127.0.0.1", port: port)
    try phone.dunlin.updateTransportConfig { $0.connect.webSocketURLs = ["ws://127.0.0.1:\(port)"] }
    try phone.dunlin.startSync()
    await connected(phone, to: ["tablet"])
  }

  @Test func `what is switched off takes nothing away that the application asked for itself`() async throws {
    try phone.dunlin.listen()
    try phone.dunlin.startSync()
    let own = try #require(phone.dunlin.listeningPorts.first)
    try phone.dunlin.updateTransportConfig { $0.listen.tcp.isEnabled = true }
    #expect(phone.dunlin.listeningPorts.count == 2)
    tablet.dunlin.connect(host: "127.0.0.1", port: own)
    try tablet.dunlin.updateTransportConfig { $0.connect.tcpServers = ["127.0.0.1:\(own)"] }
    try tablet.dunlin.startSync()
    await connected(tablet, to: ["phone"])
    try tablet.dunlin.updateTransportConfig { $0.connect = .init() }
    try phone.dunlin.updateTransportConfig { $0.listen = .init() }
    #expect(phone.dunlin.listeningPorts == [own])
    #expect(tablet.dunlin.presence.graph.remotePeers.first?.connections.count == 1)
    tablet.dunlin.disconnect(host: "127.0.0.1", port: own)
    await connected(tablet, to: [])
  }

  @Test func `when one part is wrong nothing changes`() throws {
    try phone.dunlin.listen()
    try phone.dunlin.startSync()
    let taken = try #require(phone.dunlin.listeningPorts.first)
    try tablet.dunlin.updateTransportConfig { $0.listen.tcp.isEnabled = true }
    try tablet.dunlin.startSync()
    let (before, ports) = (tablet.dunlin.transportConfig, tablet.dunlin.listeningPorts)
    let inUse = #expect(throws: DunlinError.self) {
      try tablet.dunlin.updateTransportConfig { config in
        config.listen.tcp.isEnabled = false
        config.listen.webSocket.isEnabled = true
        config.listen.webSocket.port = taken
        config.connect.tcpServers = ["127.0.0.1:1"]
      }
    }
    #expect(inUse?.code == .portInUse && inUse?.message.contains("\(taken)") == true)
    #expect(tablet.dunlin.transportConfig == before)
    // It listens again, if need be on another free port.
    #expect(tablet.dunlin.listeningPorts.count == ports.count)
    struct Cancelled: Error {}
    #expect(throws: Cancelled.self) {
      try tablet.dunlin.updateTransportConfig { config in
        config.listen.tcp.isEnabled = false
        throw Cancelled()
      }
    }
    #expect(tablet.dunlin.transportConfig == before)
  }

  struct Mistake: Sendable {
    let code: String
    let text: String
    let change: @Sendable (inout DunlinTransportConfig) -> Void

    init(
      _ code: String, _ text: String, _ change: @escaping @Sendable (inout DunlinTransportConfig) -> Void
    ) { (self.code, self.text, self.change) = (code, text, change) }

    static let all = [
      Mistake("unreachable", "no port") { $0.connect.tcpServers = ["example.org"] },
      Mistake("unreachable", "from 1 to 65535") { $0.connect.tcpServers = ["example.org:70000"] },
      Mistake("unreachable", "no host") { $0.connect.tcpServers = ["::1:4040"] },
      Mistake("unreachable", "no host") { $0.connect.tcpServers = [":4040"] },
      Mistake("unreachable", "characters") { $0.connect.tcpServers = ["a b:4040"] },
      Mistake("unreachable", "not closed") { $0.connect.tcpServers = ["[::1:4040"] },
      Mistake("unreachable", "ws://") { $0.connect.webSocketURLs = ["http://example.org"] },
      Mistake("argument", "retryInterval") { $0.connect.retryInterval = .zero },
      Mistake("argument", "listen.tcp.port") {
        $0.listen.tcp.isEnabled = true
        $0.listen.tcp.port = 65_536
      },
      Mistake("unsupported", "bluetoothLE") { $0.peerToPeer.bluetoothLE.isEnabled = true },
      Mistake("unsupported", "awdl") { $0.peerToPeer.awdl.isEnabled = true },
      Mistake("unsupported", "wifiAware") { $0.peerToPeer.wifiAware.isEnabled = true },
      Mistake("unsupported", "mDNS") {
        $0.peerToPeer.lan.isEnabled = true
        $0.peerToPeer.lan.isMdnsEnabled = false
      },
    ]
  }

  @Test(arguments: Mistake.all)
  func `what is wrong is named`(_ mistake: Mistake) throws {
    let error = #expect(throws: DunlinError.self) { try tablet.dunlin.updateTransportConfig(mistake.change) }
    #expect(error?.code.rawValue == mistake.code && error?.message.contains(mistake.text) == true)
    #expect(tablet.dunlin.transportConfig == DunlinTransportConfig())
    try tablet.dunlin.setTransportConfig(DunlinTransportConfig())
  }

  @Test func `several mistakes are named at once`() throws {
    let error = #expect(throws: DunlinError.self) {
      try tablet.dunlin.updateTransportConfig { config in
        config.peerToPeer.awdl.isEnabled = true
        config.listen.tcp.isEnabled = true
        config.listen.tcp.port = -1
        config.connect.tcpServers = ["example.org", "a b:4040"]
        config.connect.retryInterval = .zero
      }
    }
    #expect(error?.code == .unsupported)
    let message = error?.message ?? ""
    for words in ["awdl", "listen.tcp.port is -1", "no port", "characters", "retryInterval"] {
      expect(message.contains(words), "\(words): \(message)")
    }
    #expect(tablet.dunlin.transportConfig == DunlinTransportConfig())
  }

  @Test func `a closed database takes no configuration`() throws {
    try tablet.dunlin.close()
    let error = #expect(throws: DunlinError.self) { try tablet.dunlin.updateTransportConfig { _ in } }
    #expect(error?.code == .closed)
  }
}

@Suite(.timeLimit(.minutes(15))) struct TransportConditionTests {
  /// Waits until the conditions are as they are to be.
  private func wait(
    _ dunlin: Dunlin, until isReached: (Set<DunlinTransportCondition>) -> Bool
  ) async throws {
    for await conditions in dunlin.transportConditionChanges where isReached(conditions) { return }
    try Task.checkCancellation()
    Issue.record("the database was closed")
  }

  @Test func `a peer that was connected to a big one says while none is there`() async throws {
    let (tablet, cloud) = (try Peer("tablet"), try Peer("cloud", kind: .big))
    try cloud.dunlin.listen()
    try cloud.dunlin.startSync()
    let port = try #require(cloud.dunlin.listeningPorts.first)
    try tablet.dunlin.startSync()
    #expect(tablet.dunlin.transportConditions.isEmpty)
    tablet.dunlin.connect(host: "127.0.0.1", port: port)
    for await graph in tablet.dunlin.presence.graphs where !graph.remotePeers.isEmpty { break }
    try await wait(tablet.dunlin) { $0.isEmpty }
    cloud.dunlin.stopSync()
    try await wait(tablet.dunlin) { $0.contains(.noBigPeer) }
    // Nobody listens there any more, which is said as well.
    try await wait(tablet.dunlin) { $0.count == 2 }
    #expect(tablet.dunlin.transportConditions.map(\.description).contains("No big peer is connected"))
    try cloud.dunlin.startSync()
    try await wait(tablet.dunlin) { $0.isEmpty }
    cloud.dunlin.stopSync()
    try await wait(tablet.dunlin) { !$0.isEmpty }
    tablet.dunlin.stopSync()
    try await wait(tablet.dunlin) { $0.isEmpty }
    try tablet.dunlin.close()
    for await conditions in tablet.dunlin.transportConditionChanges { expect(conditions.isEmpty) }
  }

  @Test func `a peer that connects to small ones lacks no big one`() async throws {
    let (tablet, phone) = (try Peer("tablet"), try Peer("phone"))
    try phone.dunlin.listen()
    try phone.dunlin.startSync()
    let port = try #require(phone.dunlin.listeningPorts.first)
    tablet.dunlin.connect(host: "127.0.0.1", port: port)
    try tablet.dunlin.startSync()
    for await graph in tablet.dunlin.presence.graphs where !graph.remotePeers.isEmpty { break }
    #expect(!tablet.dunlin.transportConditions.contains(.noBigPeer))
    phone.dunlin.stopSync()
    try await wait(tablet.dunlin) { !$0.isEmpty }
    #expect(!tablet.dunlin.transportConditions.contains(.noBigPeer))
    // An address that is forgotten lacks nothing.
    tablet.dunlin.disconnect(host: "127.0.0.1", port: port)
    try await wait(tablet.dunlin) { $0.isEmpty }
  }

  @Test func `an address that leads to no peer is named with the reason`() async throws {
    let tablet = try Peer("tablet")
    let stranger = try Dunlin(
      path: tablet.directory.file("stranger"), identity: .unsafeDevelopment(appID: "others"))
    try stranger.listen()
    try stranger.startSync()
    let port = try #require(stranger.listeningPorts.first)
    tablet.dunlin.connect(host: "127.0.0.1", port: port)
    try tablet.dunlin.startSync()
    try await wait(tablet.dunlin) { !$0.isEmpty }
    let expected = "No session with tcp://127.0.0.1:\(port): The peer belongs to another application"
    #expect(
      tablet.dunlin.transportConditions == [
        .unreachable(address: "tcp://127.0.0.1:\(port)", reason: expected)
      ])
    #expect(tablet.dunlin.transportConditions.first?.description == expected)
    try stranger.close()
    try await wait(tablet.dunlin) { $0.contains { $0.description.hasPrefix("Cannot connect to") } }
    try tablet.dunlin.close()
  }
}
