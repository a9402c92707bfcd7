import NIOCore
import NIOHTTP1

/// Upgrades an accepted connection to a WebSocket.
enum WebSocketUpgrade {
  /// How long a client may take to send its request.
  private static let deadline = TimeAmount.seconds(10)
  /// The most bytes of a request's fields.
  private static let headBytes = 16 << 10

  /// Adds the handlers to a channel that is being made.
  ///
  /// Delivers its link once the client has requested it.
  ///
  /// - Parameters:
  ///   - channel: The channel of the accepted connection.
  ///   - options: The bounds of the link, and the trusted proxies.
  ///   - place: The connection's entry among the half-open ones.
  ///   - awaitsAdmission: Whether `Link.admitted` is called on each link; until then a peer may send little.
  ///   - arrivals: Receives the link.
  /// - Throws: An error of the channel, which is closed then.
  static func begin(
    on channel: any Channel, _ options: TCPOptions, _ place: HalfOpenPlace, awaitsAdmission: Bool,
    _ arrivals: AsyncStream<TCPLink>.Continuation
  ) throws {
    let upgrader = WebSocketServerUpgrader<TCPLink?> { channel, head in
      channel.eventLoop.makeCompletedFuture {
        let forwarded = ForwardedAddress(head, over: channel, options)
        try channel.pipeline.syncOperations.addHandler(
          WebSocketBytesHandler(
            isClient: false, name: channel.peerName, awaitsAdmission: awaitsAdmission))
        return try TCPLink(
          channel, kind: "ws", options: options, address: forwarded?.text, origin: forwarded?.origin,
          place: place)
      }
    }
    let configuration = NIOTypedHTTPServerUpgradeConfiguration<TCPLink?>(upgraders: [upgrader]) { channel in
      // The gate lets no other request pass.
      channel.close(promise: nil)
      return channel.eventLoop.makeSucceededFuture(nil)
    }
    var pipeline = NIOUpgradableHTTPServerPipelineConfiguration(upgradeConfiguration: configuration)
    pipeline.decoderConfiguration.maxHeaderListSize = headBytes
    let operations = channel.pipeline.syncOperations
    let upgraded = try operations.configureUpgradableHTTPServerPipeline(configuration: pipeline)
    let decoder = try operations.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
    let gate = WebSocketGate { [weak channel] head in
      guard let channel else { return false }
      let origin = ForwardedAddress(head, over: channel, options)?.origin
      return place.settle(origin ?? ConnectionOrigin(channel.remoteAddress))
    }
    try operations.addHandler(gate, position: .after(decoder))
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
