import CRDTCore
import Foundation
import Synchronization
import TestKit
import Testing
import Transports

#if TLS
  import Crypto
#endif

@Suite(.timeLimit(.minutes(15))) struct WebSocketTests {
  /// Both ends of a connection over loopback, and what keeps them.
  private func connected() async throws -> (client: TCPLink, server: TCPLink, listener: TCPListener) {
    let listener = try await TCPListener.bind(over: .webSocket)
    let address = try WebSocketAddress("ws://127.0.0.1:\(listener.port)/sync")
    let client = try await WebSocketConnector(address).connect()
    var links = listener.links.makeAsyncIterator()
    let server = try #require(await links.next(isolation: #isolation))
    return (client, server, listener)
  }

  @Test func `a peer that closes is seen as gone`() async throws {
    let (client, server, listener) = try await connected()
    server.close(LinkError(.closed, "done"))
    #expect(await linkError { while try await client.receive() != nil {} }?.code == .disconnected)
    client.close(LinkError(.closed, "done"))
    await client.closed()
    await listener.close()
  }

  @Test func `two peers sync over a WebSocket`() async throws {
    let (left, right) = (try TestPeer("left"), try TestPeer("right"))
    try await left.fill("things", 0..<2_000)
    for peer in [left, right] { peer.network.subscribe(to: try everything("things")) }
    try left.network.start()
    let port = try #require(try left.network.listen(over: .webSocket))
    right.network.connect(to: try WebSocketAddress("ws://127.0.0.1:\(port)"))
    try right.network.start()
    try await right.wait(with: left) { try right.documents("things") == left.documents("things") }
    try await right.set("things", 5, "name", .string("from the right"))
    try await left.wait(with: right) { try right.documents("things") == left.documents("things") }
    #expect(right.network.connections.map(\.endpoint.kind) == ["ws"])
    await left.end()
    await right.end()
  }

  // MARK: - By hand

  private static let upgrade = """
    GET / HTTP/1.1\r
    Host: test\r
    Connection: Upgrade\r
    Upgrade: websocket\r
    Sec-WebSocket-Version: 13\r
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
    \r

    """

  /// A connection that says HTTP by hand.
  private func raw(_ listener: TCPListener, _ request: String) async throws -> TCPLink {
    let link = try await TCPConnector(host: "127.0.0.1", port: listener.port).connect()
    try await link.send([Array(request.utf8)])
    return link
  }

  /// Receives until what came ends like this.
  private func text(from link: TCPLink, through end: String) async throws -> String {
    var text = ""
    while !text.contains(end), let bytes = try await link.receive() {
      text += String(decoding: bytes, as: UTF8.self)
    }
    return text
  }

  /// A masked frame, with a mask of zeros.
  private func frame(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true) -> [UInt8] {
    let first = (isFinal ? 0x80 : 0) | opcode
    let length: [UInt8] =
      payload.count < 126
      ? [0x80 | UInt8(payload.count)]
      : payload.count < 65_536
        ? [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        : [0x80 | 127, 0, 0, 0, 0] + (0..<4).map { UInt8(truncatingIfNeeded: payload.count >> (24 - 8 * $0)) }
    return [first] + length + [0, 0, 0, 0] + payload
  }

  @Test func `fragments, pings and what follows the request at once are understood`() async throws {
    let listener = try await TCPListener.bind(over: .webSocket)
    let link = try await raw(listener, Self.upgrade)
    try await link.send([frame(2, [1, 2], isFinal: false), frame(9, [7]), frame(0, [3])])
    var links = listener.links.makeAsyncIterator()
    let server = try #require(await links.next(isolation: #isolation))
    #expect(try await receive(3, from: server) == [1, 2, 3])
    var bytes: [UInt8] = []
    while bytes.count < 3 || !bytes.suffix(3).elementsEqual([0x8A, 1, 7]) {
      bytes += try #require(try await link.receive())
    }
    // The frame for an end, with its code.
    try await link.send([frame(8, [3, 0xE8])])
    #expect(try await server.receive() == nil)
    for link in [link, server] { link.close(LinkError(.closed, "done")) }
    await listener.close()
  }

  @Test(arguments: ["a text", "a message too long", "no mask", "an end of TCP alone"])
  func `what is wrong on a WebSocket ends the link with an error`(_ what: String) async throws {
    let listener = try await TCPListener.bind(over: .webSocket)
    let link = try await raw(listener, Self.upgrade)
    var links = listener.links.makeAsyncIterator()
    let server = try #require(await links.next(isolation: #isolation))
    switch what {
    case "a text": try await link.send([frame(1, Array("text".utf8))])
    case "a message too long": try await link.send([Array(frame(2, pattern(65_537)).prefix(100))])
    case "no mask": try await link.send([[0x8F, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]])
    default: try await link.finish()
    }
    #expect(await linkError { while try await server.receive() != nil {} } != nil)
    for link in [link, server] { link.close(LinkError(.closed, "done")) }
    await listener.close()
  }

  /// Receives all that comes until the other end closes.
  private func rest(from link: TCPLink) async -> [UInt8] {
    var bytes: [UInt8] = []
    while let more = try? await link.receive() { bytes += more }
    return bytes
  }

  @Test(
    arguments: [
      ("reserved bits", [0xC2, 0x80, 0, 0, 0, 0], 1_002), ("no mask", [0x82, 0x01, 7], 1_002),
      ("a text", [0x81, 0x80, 0, 0, 0, 0], 1_003),
      ("a frame too long", [0x82, 0xFF, 0, 0, 0, 0, 0, 1, 0, 1], 1_009),
      ("70 pongs", Array([[UInt8]](repeating: [0x8A, 0x80, 0, 0, 0, 0], count: 70).joined()), 1_008),
    ] as [(String, [UInt8], Int)])
  func `who breaks the rules receives a close frame that says how`(
    what: String, bytes: [UInt8], code: Int
  ) async throws {
    let listener = try await TCPListener.bind(over: .webSocket)
    let link = try await raw(listener, Self.upgrade)
    var links = listener.links.makeAsyncIterator()
    let server = try #require(await links.next(isolation: #isolation))
    // More than the one frame, all of which the other end has yet to read.
    try await link.send([bytes, [UInt8](repeating: 0, count: 10_000)])
    #expect(await linkError { while try await server.receive() != nil {} }?.code == .malformed)
    let answer = await rest(from: link)
    let head = try #require(answer.firstRange(of: Array("\r\n\r\n".utf8)))
    let frame = Array(answer[head.upperBound...])
    #expect(frame.count >= 4 && frame[0] == 0x88 && Int(frame[1]) == frame.count - 2, "\(what)")
    #expect(frame[2...3].elementsEqual([UInt8(code >> 8), UInt8(code & 255)]), "\(what)")
    link.close(LinkError(.closed, "done"))
    await server.closed()
    await listener.close()
  }

  @Test func `a peer that closes with an error has not ended in order`() async throws {
    let listener = try await TCPListener.bind(over: .webSocket)
    let link = try await raw(listener, Self.upgrade)
    var links = listener.links.makeAsyncIterator()
    let server = try #require(await links.next(isolation: #isolation))
    try await link.send([frame(2, [1, 2, 3]), frame(8, [3, 0xF3] + Array("no room".utf8))])
    #expect(try await receive(3, from: server) == [1, 2, 3])
    let error = await linkError { while try await server.receive() != nil {} }
    #expect(error?.code == .disconnected)
    #expect(error?.message.contains("with code 1011 (no room)") == true)
    link.close(LinkError(.closed, "done"))
    await server.closed()
    await listener.close()
  }

  #if TLS
    /// Answers a request for a WebSocket as a server does, and then sends bytes of its own.
    private func serve(_ listener: TCPListener, _ bytes: [UInt8]) -> Task<[UInt8], any Error> {
      Task {
        var links = listener.links.makeAsyncIterator()
        guard let link = await links.next(isolation: #isolation) else { return [] }
        var request = ""
        while !request.contains("\r\n\r\n"), let more = try await link.receive() {
          request += String(decoding: more, as: UTF8.self)
        }
        let line =
          request.split(separator: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-key: ") } ?? ""
        let accept = Self.accept(String(line.dropFirst("Sec-WebSocket-Key: ".count)))
        let head = """
          HTTP/1.1 101 Switching Protocols\r
          Upgrade: websocket\r
          Connection: Upgrade\r
          Sec-WebSocket-Accept: \(accept)\r
          \r

          """
        try await link.send([Array(head.utf8) + bytes])
        var received: [UInt8] = []
        while let more = try? await link.receive() { received += more }
        return received
      }
    }

    /// The answer to a key (RFC 6455, section 4.2.2).
    private static func accept(_ key: String) -> String {
      let text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
      return Data(Insecure.SHA1.hash(data: Data(text.utf8))).base64EncodedString()
    }

    @Test func `a client that receives a masked frame closes with 1002`() async throws {
      let listener = try await TCPListener.bind()
      let serving = serve(listener, frame(2, [1, 2, 3]))
      let address = try WebSocketAddress("ws://127.0.0.1:\(listener.port)/")
      let client = try await WebSocketConnector(address).connect()
      let error = await linkError { while try await client.receive() != nil {} }
      #expect(error?.code == .malformed)
      let received = try await serving.value
      // A masked close frame: its head, the mask, and the code.
      let code = try #require(received.count >= 8 ? Array(received[6..<8]) : nil)
      #expect(received[0] == 0x88 && received[1] >= 0x82)
      #expect([code[0] ^ received[2], code[1] ^ received[3]] == [3, 0xEA])
      await client.closed()
      await listener.close()
    }
  #endif

  @Test(
    arguments: [
      ("GET / HTTP/1.1\r\nHost: test\r\n\r\n", "426 Upgrade Required", "Sec-WebSocket-Version: 13"),
      (
        WebSocketTests.upgrade.replacingOccurrences(of: "GET", with: "POST"), "405 Method Not Allowed",
        "Allow: GET"
      ),
      (
        WebSocketTests.upgrade.replacingOccurrences(of: "Version: 13", with: "Version: 8"),
        "426 Upgrade Required",
        "Sec-WebSocket-Version: 13"
      ),
      (
        WebSocketTests.upgrade.replacingOccurrences(of: "dGhlIHNhbXBsZSBub25jZQ==", with: "short"),
        "400 Bad Request",
        "Connection: close"
      ),
      ("\u{1}\u{2}\r\n\r\n", "400 Bad Request", "Connection: close"),
      (
        "GET / HTTP/1.1\r\nHost: test\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n",
        "400 Bad Request", "Connection: close"
      ),
    ])
  func `a request for something else is answered and closed`(
    request: String, status: String, field: String
  ) async throws {
    let listener = try await TCPListener.bind(over: .webSocket)
    // Further requests on the connection have no answer.
    let link = try await raw(listener, request + request + request)
    let answer = String(decoding: await rest(from: link), as: UTF8.self)
    #expect(answer.hasPrefix("HTTP/1.1 \(status)\r\n"))
    #expect(answer.contains("\r\n\(field)\r\n"))
    #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2)
    link.close(LinkError(.closed, "done"))
    await listener.close()
  }

  @Test func `a peer that is not admitted may send little, and an admitted one as much as it likes`()
    async throws
  {
    let listener = try TCPListener.bindBlocking(
      over: .webSocket, options: TCPOptions(), halfOpen: HalfOpenConnections(ConnectionLimits()))
    let address = try WebSocketAddress("ws://127.0.0.1:\(listener.port)/")
    var links = listener.links.makeAsyncIterator()
    let first = try await WebSocketConnector(address).connect()
    let stranger = try #require(await links.next(isolation: #isolation))
    let sending = Task { for _ in 0..<100 { try await first.send([pattern(10_000)]) } }
    #expect(await linkError { while try await stranger.receive() != nil {} }?.code == .malformed)
    _ = try? await sending.value
    let second = try await WebSocketConnector(address).connect()
    let guest = try #require(await links.next(isolation: #isolation))
    guest.admitted()
    let more = Task { for _ in 0..<100 { try await second.send([pattern(10_000)]) } }
    #expect(try await receive(1_000_000, from: guest).count == 1_000_000)
    try await more.value
    for link in [first, second, stranger, guest] { link.close(LinkError(.closed, "done")) }
    await listener.close()
  }

  @Test func `a server that speaks no WebSocket is an error that names it`() async throws {
    let listener = try await TCPListener.bind()
    let serving = Task {
      for await link in listener.links {
        // What nobody has read would be lost with the answer.
        _ = try? await link.receive()
        try? await link.send([Array("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".utf8)])
        while let bytes = try? await link.receive(), !bytes.isEmpty {}
      }
    }
    let address = try WebSocketAddress("ws://127.0.0.1:\(listener.port)/there")
    let error = await linkError { _ = try await WebSocketConnector(address).connect() }
    #expect(error?.code == .refused)
    #expect(error?.message.contains("ws://127.0.0.1:\(listener.port)/there") == true)
    serving.cancel()
    await listener.close()
  }

  @Test(
    arguments: [
      (
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 120\r\n", "503 Service Unavailable: the peer behind"
      ),
      ("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 120\r\n", "; it asks to wait 120 s"),
      (
        "HTTP/1.1 429 Too Many Requests\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
        "429 Too Many Requests: it has too many requests; it asks to wait until Sun, 06 Nov 1994 08:49:37 GMT"
      ),
      ("HTTP/1.1 404 Not Found\r\n", "404 Not Found: nothing is at this path"),
      ("HTTP/1.1 403 Forbidden\r\n", "403 Forbidden: it, or a proxy on the way, does not let this peer in"),
      ("HTTP/1.1 301 Moved\r\nLocation: https://a/b\r\n", "points to https://a/b, which is not followed"),
      ("HTTP/1.1 200 OK\r\n", "200 OK: it does not speak WebSocket there"),
      (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: x\r\n",
        "answers as no WebSocket server does"
      ),
      ("SSH-2.0-OpenSSH\r\n", "connected to as host:port"),
    ])
  func `a refused WebSocket is told with the answer, and with what to do`(answer: String, words: String)
    async throws
  {
    let listener = try await TCPListener.bind()
    let serving = Task {
      for await link in listener.links {
        // What nobody has read would be lost with the answer.
        _ = try? await link.receive()
        try? await link.send([Array("\(answer)Content-Length: 0\r\n\r\n".utf8)])
        while let bytes = try? await link.receive(), !bytes.isEmpty {}
      }
    }
    let address = try WebSocketAddress("ws://127.0.0.1:\(listener.port)/there")
    let error = await linkError { _ = try await WebSocketConnector(address).connect() }
    #expect(error?.code == .refused)
    #expect(error?.message.hasPrefix("Cannot connect to \(address): ") == true)
    #expect(error?.message.contains(words) == true, "\(String(describing: error))")
    #expect(error?.retryAfter == (answer.contains("After: 120") ? .seconds(120) : nil))
    serving.cancel()
    await listener.close()
  }

  @Test func `a server that closes, and one that says nothing, are told as that`() async throws {
    let listener = try await TCPListener.bind()
    let isSilent = Mutex(false)
    let serving = Task {
      for await link in listener.links {
        _ = try? await link.receive()
        if isSilent.withLock({ $0 }) {
          while let bytes = try? await link.receive(), !bytes.isEmpty {}
        }
        link.close(LinkError(.closed, "done"))
      }
    }
    let address = try WebSocketAddress("ws://127.0.0.1:\(listener.port)/there")
    let closed = await linkError { _ = try await WebSocketConnector(address).connect() }
    #expect(closed?.code == .disconnected)
    #expect(closed?.message.contains("closed the connection before it answered") == true)
    isSilent.withLock { $0 = true }
    var options = TCPOptions()
    options.connectTimeout = .milliseconds(300)
    let silent = await linkError { _ = try await WebSocketConnector(address, options: options).connect() }
    #expect(silent?.code == .timedOut)
    #expect(silent?.message.contains("does not answer the request within 300 ms") == true)
    serving.cancel()
    await listener.close()
  }

  @Test func `addresses are read`() throws {
    let plain = try WebSocketAddress("ws://example.org")
    #expect((plain.host, plain.port, plain.path, plain.isSecure) == ("example.org", 80, "/", false))
    let secure = try WebSocketAddress("WSS://[::1]:8443/a/b?c=d")
    #expect((secure.host, secure.port, secure.path, secure.isSecure) == ("::1", 8_443, "/a/b?c=d", true))
    #expect(secure.description == "wss://[::1]:8443/a/b?c=d")
    for text in [
      "", "http://a", "ws://", "ws://:80", "ws://a:0", "ws://a:65536", "ws://a:b", "ws://u@a", "ws://a/#x",
      "ws://a b",
      "ws://a/\r\nX: y", "ws://[::1", "ws://[::1]x", "wss://ä",
    ] {
      let error = #expect(throws: LinkError.self) { try WebSocketAddress(text) }
      expectEqual(error?.code, .unreachable, "\(text)")
    }
  }

  // MARK: - Behind a proxy

  /// Asks for a WebSocket as a proxy passes the request on.
  ///
  /// - Returns: The connection where it was given, which must be kept.
  private func ask(_ listener: TCPListener, from forwarded: String?) async throws -> TCPLink? {
    let header = forwarded.map { "X-Forwarded-For: \($0)\r\n" } ?? ""
    let link = try await raw(
      listener, Self.upgrade.replacingOccurrences(of: "Host:", with: "\(header)Host:"))
    guard let answer = try? await link.receive(), String(decoding: answer, as: UTF8.self).contains("101")
    else { return nil }
    return link
  }

  private func listener(proxies: Set<String>) async throws -> TCPListener {
    var options = TCPOptions()
    options.proxies = proxies
    var limits = ConnectionLimits()
    limits.halfOpenByAddress = 2
    return try await TCPListener.bind(over: .webSocket, options: options, limits: limits)
  }

  @Test func `behind a proxy limits go by the address that it forwards`() async throws {
    let listener = try await listener(proxies: ["127.0.0.1", "10.0.0.1"])
    var kept: [TCPLink] = []
    let expected: [(forwarded: String?, isGiven: Bool)] = [
      ("203.0.113.7", true), ("198.51.100.1, 203.0.113.7:4444", true), ("198.51.100.2, 203.0.113.7", false),
      // What a proxy says last counts, and another proxy before it is passed over.
      ("203.0.113.7, 203.0.113.8, 10.0.0.1", true), ("[2001:db8::1:2]:80", true), ("2001:db8::1:3", true),
      ("2001:db8::1:4", false),
      // What says nothing of use counts for the proxy itself.
      (nil, true), ("unknown", true), ("", false), ("203.0.113.9", true),
    ]
    for (forwarded, isGiven) in expected {
      var link = try await ask(listener, from: forwarded)
      // One that was refused counts until the listener has heard that it is gone.
      while isGiven, link == nil {
        await pause()
        link = try await ask(listener, from: forwarded)
      }
      expectEqual(link != nil, isGiven, "\(forwarded ?? "nothing")")
      if let link { kept.append(link) }
    }
    var links = listener.links.makeAsyncIterator()
    let first = try #require(await links.next(isolation: #isolation))
    #expect(first.endpoint.description == "ws://203.0.113.7")
    for link in kept { link.close(LinkError(.closed, "done")) }
    await listener.close()
  }

  @Test func `who is no proxy is not believed`() async throws {
    let listener = try await listener(proxies: ["10.0.0.1"])
    let kept = [
      try await ask(listener, from: "203.0.113.7"), try await ask(listener, from: "203.0.113.8"),
    ]
    #expect(kept.allSatisfy { $0 != nil })
    // Both count for this machine.
    let third = try? await ask(listener, from: "203.0.113.9")
    #expect(third == nil)
    for link in kept { link?.close(LinkError(.closed, "done")) }
    await listener.close()
  }
}
