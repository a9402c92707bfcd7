import Links
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(15))) struct TCPLinkTests {
  /// Both ends of a connection over loopback, and what keeps them.
  private func connected(
    over carrier: TCPListener.Carrier = .tcp, _ options: TCPOptions = TCPOptions(),
    limits: ConnectionLimits = ConnectionLimits()
  ) async throws -> (client: TCPLink, server: TCPLink, listener: TCPListener) {
    let listener = try await TCPListener.bind(over: carrier, options: options, limits: limits)
    let connector: any LinkConnector =
      carrier == .tcp
      ? TCPConnector(host: "127.0.0.1", port: listener.port, options: options)
      : WebSocketConnector(try WebSocketAddress("ws://127.0.0.1:\(listener.port)/sync"), options: options)
    let client = try await connector.connect()
    var links = listener.links.makeAsyncIterator()
    let server = try #require(await links.next(isolation: #isolation))
    return (client, server, listener)
  }

  @Test(arguments: [TCPListener.Carrier.tcp, .webSocket])
  func `carries many megabytes both ways in order`(_ carrier: TCPListener.Carrier) async throws {
    let (client, server, listener) = try await connected(over: carrier)
    let echo = Task {
      while let bytes = try await server.receive() { try await server.send([bytes]) }
      try await server.finish()
    }
    async let sending: Void = {
      for start in stride(from: 0, to: 3_000_000, by: 10_000) {
        try await client.send([pattern(4_000, from: start), pattern(6_000, from: start + 4_000)])
      }
      try await client.finish()
    }()
    let bytes = try await receive(.max, from: client)
    try await sending
    try await echo.value
    #expect(bytes == pattern(3_000_000))
    #expect(client.statistics == server.statistics)
    await listener.close()
  }

  @Test func `names the other end`() async throws {
    let (client, server, listener) = try await connected()
    #expect(client.endpoint.description == "tcp://127.0.0.1:\(listener.port)")
    #expect(server.endpoint.address.hasPrefix("127.0.0.1:"))
    await listener.close()
    let (webClient, webServer, webListener) = try await connected(over: .webSocket)
    #expect(webClient.endpoint.description == "ws://127.0.0.1:\(webListener.port)/sync")
    #expect(webServer.endpoint.kind == "ws")
    await webListener.close()
  }

  @Test(arguments: [TCPListener.Carrier.tcp, .webSocket])
  func `a sender waits for a reader that lags, with bounded memory`(
    _ carrier: TCPListener.Carrier
  ) async throws {
    var options = TCPOptions()
    options.inboundBytes = 64 << 10
    options.outboundBytes = 64 << 10
    let (client, server, listener) = try await connected(over: carrier, options)
    let piece = pattern(100_000)
    let sender = Task { for _ in 0..<400 { try await client.send([piece]) } }
    // Whatever the system's own buffers take, it is far less than all.
    var last: UInt64 = 0
    var quiet = 0
    while quiet < 20 {
      try await Task.sleep(for: .milliseconds(5))
      quiet = client.statistics.sentBytes == last ? quiet + 1 : 0
      last = client.statistics.sentBytes
    }
    #expect(last < 22_000_000)
    #expect(try await receive(40_000_000, from: server).count == 40_000_000)
    try await sender.value
    await listener.close()
  }

  @Test func `bytes on the way arrive when the sender closes behind its end`() async throws {
    let (client, server, listener) = try await connected()
    // The peer ends first: the socket would drop what waits if it were closed whole.
    try await server.finish()
    #expect(try await client.receive() == nil)
    async let received = receive(.max, from: server)
    try await client.send([pattern(2_000_000)])
    try await client.finish()
    #expect(try await received == pattern(2_000_000))
    client.close(LinkError(.closed, "done"))
    await client.closed()
    await listener.close()
  }

  @Test func `a peer that closes is seen as gone by whoever waits`() async throws {
    let (client, server, listener) = try await connected()
    let receiver = Task { await linkError { while try await client.receive() != nil {} } }
    try await server.send([[1]])
    server.close(LinkError(.closed, "done"))
    #expect(await receiver.value == nil)
    let sending = await linkError { while true { try await client.send([pattern(10_000)]) } }
    #expect(sending?.code == .disconnected)
    client.close(LinkError(.closed, "done"))
    await client.closed()
    await server.closed()
    await listener.close()
  }

  @Test func `a port in use is an error that names host and port`() async throws {
    let listener = try await TCPListener.bind()
    let failure = await linkError { _ = try await TCPListener.bind(port: listener.port) }
    #expect(failure?.code == .portInUse)
    #expect(failure?.message.contains("127.0.0.1:\(listener.port)") == true)
    await listener.close()
    let again = try await TCPListener.bind(port: listener.port)
    #expect(again.port == listener.port)
    await again.close()
  }

  @Test func `nobody listening is an error that names host and port`() async throws {
    let listener = try await TCPListener.bind()
    await listener.close()
    let connector = TCPConnector(host: "127.0.0.1", port: listener.port)
    let failure = await linkError { _ = try await connector.connect() }
    #expect(failure?.code == .refused)
    #expect(failure?.message.contains("127.0.0.1:\(listener.port)") == true)
  }

  @Test(arguments: [-1, 0, 65_536])
  func `a port out of range is an error`(port: Int) async {
    #expect(
      await linkError { _ = try await TCPConnector(host: "127.0.0.1", port: port).connect() }?.code
        == .unreachable)
    if port != 0 {
      #expect(await linkError { _ = try await TCPListener.bind(port: port) }?.code == .unreachable)
    }
  }

  @Test(arguments: [\ConnectionLimits.halfOpen, \ConnectionLimits.halfOpenByAddress])
  func `a listener closes connections beyond its limits and takes new ones when others have gone`(
    _ limit: any WritableKeyPath<ConnectionLimits, Int> & Sendable
  ) async throws {
    var limits = ConnectionLimits()
    limits[keyPath: limit] = 1
    let (client, server, listener) = try await connected(limits: limits)
    let connector = TCPConnector(host: "127.0.0.1", port: listener.port)
    let second = try await connector.connect()
    // Closed by the listener: the end, in order or not, comes without a byte.
    #expect(((try? await second.receive()) ?? nil) == nil)
    client.close(LinkError(.closed, "done"))
    await client.closed()
    server.close(LinkError(.closed, "done"))
    await server.closed()
    let third = try await connector.connect()
    var links = listener.links.makeAsyncIterator()
    let accepted = try #require(await links.next(isolation: #isolation))
    try await third.send([[7]])
    #expect(try await accepted.receive() == [7])
    // One that is admitted counts no more, until it is closed.
    accepted.admitted()
    let fourth = try await connector.connect()
    #expect(await links.next(isolation: #isolation) != nil)
    fourth.close(LinkError(.closed, "done"))
    await listener.close()
  }

  @Test func `reconnects when the listener comes back on the same port`() async throws {
    let first = try await TCPListener.bind()
    let port = first.port
    let greetings = Mutex<[UInt8]>([])
    let failures = Mutex(0)
    let backoff = Backoff(initial: .milliseconds(1), longest: .milliseconds(5))
    let keeper = Task {
      await TCPConnector(host: "127.0.0.1", port: port).keepConnected(
        backoff: backoff, failed: { _, _ in failures.withLock { $0 += 1 } }
      ) { link in
        while let bytes = try? await link.receive() { greetings.withLock { $0 += bytes } }
        link.close(LinkError(.closed, "done"))
        return true
      }
    }
    var links = first.links.makeAsyncIterator()
    var link = try #require(await links.next(isolation: #isolation))
    try await link.send([[1]])
    try await link.finish()
    link.close(LinkError(.closed, "done"))
    await first.close()
    while failures.withLock({ $0 }) < 2 { try await Task.sleep(for: .milliseconds(1)) }
    let second = try await TCPListener.bind(port: port)
    links = second.links.makeAsyncIterator()
    link = try #require(await links.next(isolation: #isolation))
    try await link.send([[2]])
    while greetings.withLock({ $0 }) != [1, 2] { try await Task.sleep(for: .milliseconds(1)) }
    keeper.cancel()
    link.close(LinkError(.closed, "done"))
    await keeper.value
    await second.close()
  }

  @Test func `cancellation ends the wait between attempts at once`() async throws {
    let listener = try await TCPListener.bind()
    await listener.close()
    let clock = ManualClock()
    let connector = TCPConnector(host: "127.0.0.1", port: listener.port)
    let keeper = Task {
      await connector.keepConnected(clock: TransportClock(clock)) { _ in true }
    }
    await clock.waitForSleepers()
    keeper.cancel()
    await keeper.value
    #expect(clock.sleeperCount == 0)
  }
}
