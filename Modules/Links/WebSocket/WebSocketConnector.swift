import CRDTCore
import NIOCore
import NIOHTTP1
import NIOPosix

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
  /// - Throws: `refused` also when the server does not speak WebSocket, with the status of its answer;
  ///   `untrusted` when its certificate is invalid, with what is wrong; `timedOut` also when it does not
  ///   answer the request; otherwise the errors of a TCP connection.
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
          attempt.expire()
        }
        defer { timeOut.cancel() }
        return try await upgrade.1.get()
      } onCancel: {
        attempt.cancel()
      }
    } catch {
      // A server that has refused the request may keep the connection open.
      attempt.cancel()
      if Task.isCancelled { throw .cancelled }
      guard !attempt.isExpired else {
        throw LinkError(
          .timedOut, "\(what): the server does not answer the request within \(options.connectTimeout.text)")
      }
      throw LinkError(tcp: error, what)
    }
  }

  /// Adds the handlers to a channel that is being made; must run on its event loop.
  private func prepare(_ channel: any Channel, _ attempt: ConnectionAttempt) throws -> EventLoopFuture<
    TCPLink
  > {
    try attempt.begin(on: channel)
    let handshake = WebSocketHandshake(with: webSocket, on: channel.eventLoop)
    if webSocket.isSecure { try addTLS(channel, handshake) }
    var headers = HTTPHeaders()
    headers.add(name: "Host", value: webSocket.authority)
    let upgrader = WebSocketClientUpgrader<TCPLink> { [options, address, webSocket] channel in
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
    ) { [refusal = handshake.refusal] channel in channel.eventLoop.makeFailedFuture(refusal.value.error) }
    var pipeline = NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: configuration)
    pipeline.leftOverBytesStrategy = .forwardBytes
    let operations = channel.pipeline.syncOperations
    let upgraded = try operations.configureUpgradableHTTPClientPipeline(configuration: pipeline)
    let decoder = try operations.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
    try operations.addHandler(handshake, position: .after(decoder))
    return upgraded
  }

  /// Adds the web server's TLS.
  ///
  /// It does not identify the peer, which proves itself inside the link.
  private func addTLS(_ channel: any Channel, _ handshake: WebSocketHandshake) throws {
    #if TLS
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.applicationProtocols = ["http/1.1"]
      if let file = options.webAuthority { configuration.trustRoots = .file(file) }
      let isName = (try? SocketAddress(ipAddress: webSocket.host, port: 0)) == nil
      let context: NIOSSLContext
      do {
        context = try NIOSSLContext(configuration: configuration)
      } catch {
        throw LinkError(
          .untrusted,
          "Cannot connect to \(address): the authorities \(options.webAuthority.map { "in \($0)" } ?? "of the system") cannot be read (\(error))"
        )
      }
      let tls = try NIOSSLClientHandler(context: context, serverHostname: isName ? webSocket.host : nil)
      handshake.tls = tls
      try channel.pipeline.syncOperations.addHandler(tls)
    #else
      throw LinkError(.unreachable, "wss:// needs the package's trait TLS")
    #endif
  }
}
