import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

#if TLS
  import NIOSSL
#endif

/// Connects to one WebSocket server, or to a proxy before it.
public struct WebSocketConnector: LinkConnector {
  /// The address of the server.
  public let webSocket: WebSocketAddress

  private let options: TCPOptions

  /// Takes an address; does not connect yet.
  public init(_ address: WebSocketAddress, options: TCPOptions = TCPOptions()) {
    webSocket = address
    self.options = options
  }

  public var address: String { webSocket.description }

  /// Makes one attempt to connect, which includes the WebSocket handshake.
  ///
  /// - Throws: `refused` also when the server does not speak WebSocket, with its answer; `untrusted` when its
  ///   certificate is invalid; otherwise the errors of a TCP connection.
  public func connect() async throws(LinkError) -> TCPLink {
    let what = "Cannot connect to \(address)"
    try TCP.checkDescriptors(what)
    let attempt = ConnectionAttempt()
    do {
      return try await withTaskCancellationHandler {
        let upgrade = try await TCP.clientBootstrap(options)
          .connect(host: webSocket.host, port: webSocket.port) { channel in
            channel.eventLoop.makeCompletedFuture { (channel, try prepare(channel, attempt)) }
          }
        let timeOut = upgrade.0.eventLoop.scheduleTask(in: TimeAmount(options.connectTimeout)) {
          upgrade.0.close(promise: nil)
        }
        defer { timeOut.cancel() }
        return try await upgrade.1.get()
      } onCancel: {
        attempt.cancel()
      }
    } catch {
      throw Task.isCancelled ? .cancelled : LinkError(tcp: error, what)
    }
  }

  /// Adds the handlers to a channel that is being made; must run on its event loop.
  private func prepare(_ channel: any Channel, _ attempt: ConnectionAttempt) throws -> EventLoopFuture<
    TCPLink
  > {
    try attempt.begin(on: channel)
    if webSocket.isSecure { try addTLS(channel) }
    var headers = HTTPHeaders()
    headers.add(name: "Host", value: webSocket.authority)
    let upgrader = NIOTypedWebSocketClientUpgrader<TCPLink>(
      maxFrameSize: WebSocketBytesHandler.frameLimit
    ) { [options, address, webSocket] channel, _ in
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(WebSocketBytesHandler(isClient: true, name: address))
        return try TCPLink(
          channel, kind: webSocket.isSecure ? "wss" : "ws", options: options,
          address: webSocket.authority + webSocket.path)
      }
    }
    let configuration = NIOTypedHTTPClientUpgradeConfiguration(
      upgradeRequestHead: HTTPRequestHead(
        version: .http1_1, method: .GET, uri: webSocket.path, headers: headers),
      upgraders: [upgrader]
    ) { channel in
      channel.eventLoop.makeFailedFuture(
        LinkError(.refused, "Cannot connect to \(address): the server does not speak WebSocket there"))
    }
    var pipeline = NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: configuration)
    pipeline.leftOverBytesStrategy = .forwardBytes
    return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(configuration: pipeline)
  }

  /// Adds the web server's TLS.
  ///
  /// It does not identify the peer, which proves itself inside the link.
  private func addTLS(_ channel: any Channel) throws {
    #if TLS
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.applicationProtocols = ["http/1.1"]
      if let file = options.webAuthority { configuration.trustRoots = .file(file) }
      let isName = (try? SocketAddress(ipAddress: webSocket.host, port: 0)) == nil
      try channel.pipeline.syncOperations.addHandler(
        NIOSSLClientHandler(
          context: NIOSSLContext(configuration: configuration), serverHostname: isName ? webSocket.host : nil)
      )
    #else
      throw LinkError(.unreachable, "wss:// needs the package's trait TLS")
    #endif
  }
}
