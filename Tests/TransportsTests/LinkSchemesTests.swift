import Links
import Testing

@Suite struct LinkSchemesTests {
  @Test(arguments: [
    ("ws://example.org", "ws://example.org:80/"), ("WSS://[::1]:8443/a?b=c", "wss://[::1]:8443/a?b=c"),
  ])
  func `reads a URL by its scheme, in letters of either case`(url: String, expected: String) throws {
    let address = try LinkSchemes.address(url: url)
    #expect("\(address)" == expected)
    #expect(address.dialer(TCPOptions()).address == expected)
  }

  @Test(arguments: ["tcp://127.0.0.1:4040", "quic://example.org", "127.0.0.1:4040", "ws:example.org", ""])
  func `refuses a URL of an unknown scheme, and says which there are`(url: String) {
    let error = #expect(throws: LinkError.self) { try LinkSchemes.address(url: url) }
    #expect(error?.code == .unreachable)
    #expect(error?.message.hasPrefix("\"\(url)\" is no WebSocket address: ") == true)
  }

  @Test func `reads host and port as an address of TCP`() throws {
    let address = try LinkSchemes.standard.address("[::1]:4040")
    #expect("\(address)" == "tcp://[::1]:4040")
    #expect(address == PeerAddress.tcp(host: "::1", port: 4_040).link)
    #expect(!LinkSchemes.isURL("[::1]:4040"))
  }

  @Test func `takes addresses for equal that are written in the same way`() throws {
    let plain = try LinkSchemes.address(url: "ws://example.org")
    #expect(try plain == LinkSchemes.address(url: "WS://example.org:80/"))
    #expect(try plain != LinkSchemes.address(url: "wss://example.org:80/"))
    #expect(try plain == PeerAddress.webSocket(WebSocketAddress("ws://example.org")).link)
  }

  @Test func `tells addresses to listen on apart by their scheme`() {
    let tcp = ListeningAddress(host: "127.0.0.1", port: 0, scheme: TCPListener.Carrier.tcp.scheme)
    let webSocket = ListeningAddress(host: "127.0.0.1", port: 0, scheme: TCPListener.Carrier.webSocket.scheme)
    #expect(tcp != webSocket)
    #expect(tcp == ListeningAddress(host: "127.0.0.1", port: 0, scheme: LinkSchemes.standard))
  }
}
