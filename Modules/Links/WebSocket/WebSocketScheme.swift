/// Links over WebSockets, which can pass through web proxies.
package struct WebSocketScheme: LinkScheme {
  package var name: String { "ws" }
  package var urlSchemes: [String] { ["ws", "wss"] }

  package init() {}

  package func address(_ text: String) throws(LinkError) -> LinkAddress {
    address(try WebSocketAddress(text))
  }

  package func listen(
    host: String, port: Int, options: TCPOptions, halfOpen: HalfOpenConnections
  ) throws(LinkError) -> any LinkListener {
    try TCPListener.bindBlocking(
      host: host, port: port, over: .webSocket, options: options, halfOpen: halfOpen)
  }

  /// The address of a server.
  func address(_ server: WebSocketAddress) -> LinkAddress {
    LinkAddress(server.description) { options in WebSocketConnector(server, options: options) }
  }
}

extension WebSocketConnector: LinkDialer {}
