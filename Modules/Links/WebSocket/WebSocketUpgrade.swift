import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Upgrades an accepted connection to a WebSocket.
enum WebSocketUpgrade {
  /// How long a client may take to send its request.
  private static let deadline = TimeAmount.seconds(10)

  /// Adds the handlers to a channel that is being made.
  ///
  /// Delivers its link once the client has requested it.
  static func begin(
    on channel: any Channel, _ options: TCPOptions, _ place: HalfOpenPlace,
    _ arrivals: AsyncStream<TCPLink>.Continuation
  ) throws {
    let upgrader = NIOTypedWebSocketServerUpgrader<TCPLink?>(
      maxFrameSize: WebSocketBytesHandler.frameLimit,
      shouldUpgrade: { channel, head in
        channel.eventLoop.makeCompletedFuture {
          let origin = ForwardedAddress(head, over: channel, options)?.origin
          guard place.settle(origin ?? ConnectionOrigin(channel.remoteAddress)) else {
            throw LinkError(.closed, "Too many connections")
          }
          return HTTPHeaders()
        }
      }
    ) { channel, head in
      channel.eventLoop.makeCompletedFuture {
        let forwarded = ForwardedAddress(head, over: channel, options)
        try channel.pipeline.syncOperations.addHandler(
          WebSocketBytesHandler(isClient: false, name: channel.peerName))
        return try TCPLink(
          channel, kind: "ws", options: options, address: forwarded?.text, origin: forwarded?.origin,
          place: place)
      }
    }
    let configuration = NIOTypedHTTPServerUpgradeConfiguration<TCPLink?>(upgraders: [upgrader]) { channel in
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(WebRefusal())
        return nil
      }
    }
    var pipeline = NIOUpgradableHTTPServerPipelineConfiguration(upgradeConfiguration: configuration)
    pipeline.decoderConfiguration.maxHeaderListSize = 16 << 10
    let upgraded = try channel.pipeline.syncOperations.configureUpgradableHTTPServerPipeline(
      configuration: pipeline)
    let timeOut = channel.eventLoop.scheduleTask(in: deadline) { channel.close(promise: nil) }
    upgraded.whenComplete { result in
      timeOut.cancel()
      switch result {
      case .success(let link?): arrivals.yield(link)
      // The request is answered, and then the connection is closed.
      case .success(nil): break
      case .failure: channel.close(promise: nil)
      }
    }
  }
}

/// Answers a request other than for a WebSocket, and closes the connection.
private final class WebRefusal: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .end = unwrapInboundIn(data) else { return }
    var headers = HTTPHeaders()
    headers.add(name: "Upgrade", value: "websocket")
    headers.add(name: "Connection", value: "close")
    headers.add(name: "Content-Length", value: "0")
    let head = HTTPResponseHead(version: .http1_1, status: .upgradeRequired, headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    let written = context.eventLoop.makePromise(of: Void.self)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
    written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
  }
}
