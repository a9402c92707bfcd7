import DunlinKit
import Testing

@Suite(.timeLimit(.minutes(3))) struct TransportConfigTests {
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

  @Test func `a closed database takes no configuration`() throws {
    try tablet.dunlin.close()
    let error = #expect(throws: DunlinError.self) { try tablet.dunlin.updateTransportConfig { _ in } }
    #expect(error?.code == .closed)
  }
}

@Suite(.timeLimit(.minutes(3))) struct TransportConditionTests {
  @Test func `a peer that has somewhere to connect to says while no big peer is there`() async throws {
    let (tablet, cloud) = (try Peer("tablet"), try Peer("cloud", kind: .big))
    var changes = tablet.dunlin.transportConditionChanges.makeAsyncIterator()
    #expect(await changes.next(isolation: #isolation) == [])
    try cloud.dunlin.listen()
    try cloud.dunlin.startSync()
    let port = try #require(cloud.dunlin.listeningPorts.first)
    try tablet.dunlin.startSync()
    #expect(tablet.dunlin.transportConditions.isEmpty)
    tablet.dunlin.connect(host: "127.0.0.1", port: port)
    var course: [Set<DunlinTransportCondition>] = []
    while let next = await changes.next(isolation: #isolation), course.last != [] || course.count < 2 {
      course.append(next)
      if next == [] { break }
    }
    // Whoever is slow may miss that it was lacking for a moment.
    #expect(course.last == [])
    cloud.dunlin.stopSync()
    #expect(await changes.next(isolation: #isolation) == [.noBigPeer])
    #expect(tablet.dunlin.transportConditions.map(\.description) == ["No big peer is connected"])
    tablet.dunlin.stopSync()
    #expect(await changes.next(isolation: #isolation) == [])
    try tablet.dunlin.close()
    #expect(await changes.next(isolation: #isolation) == nil)
    for await conditions in tablet.dunlin.transportConditionChanges { #expect(conditions.isEmpty) }
  }
}
