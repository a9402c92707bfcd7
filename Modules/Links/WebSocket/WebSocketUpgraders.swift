import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Upgrades a server's connection with the network library's handshake, and without its frames.
///
/// The library's decoder accepts what RFC 6455 forbids, and costs much for each small frame.
struct WebSocketServerUpgrader<UpgradeResult: Sendable>: NIOTypedHTTPServerProtocolUpgrader {
  private let handshake: NIOTypedWebSocketServerUpgrader<UpgradeResult>
  private let begin: @Sendable (any Channel, HTTPRequestHead) -> EventLoopFuture<UpgradeResult>

  /// - Parameter begin: Adds the handlers of the WebSocket.
  init(_ begin: @escaping @Sendable (any Channel, HTTPRequestHead) -> EventLoopFuture<UpgradeResult>) {
    self.begin = begin
    handshake = NIOTypedWebSocketServerUpgrader(
      shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture(HTTPHeaders()) },
      upgradePipelineHandler: begin)
  }

  var supportedProtocol: String { handshake.supportedProtocol }

  var requiredUpgradeHeaders: [String] { handshake.requiredUpgradeHeaders }

  func buildUpgradeResponse(
    channel: any Channel, upgradeRequest: HTTPRequestHead, initialResponseHeaders: HTTPHeaders
  ) -> EventLoopFuture<HTTPHeaders> {
    handshake.buildUpgradeResponse(
      channel: channel, upgradeRequest: upgradeRequest, initialResponseHeaders: initialResponseHeaders)
  }

  func upgrade(channel: any Channel, upgradeRequest: HTTPRequestHead) -> EventLoopFuture<UpgradeResult> {
    begin(channel, upgradeRequest)
  }
}

/// Upgrades a client's connection with the network library's handshake, and without its frames.
struct WebSocketClientUpgrader<UpgradeResult: Sendable>: NIOTypedHTTPClientProtocolUpgrader {
  private let handshake: NIOTypedWebSocketClientUpgrader<UpgradeResult>
  private let begin: @Sendable (any Channel) -> EventLoopFuture<UpgradeResult>

  /// - Parameter begin: Adds the handlers of the WebSocket.
  init(_ begin: @escaping @Sendable (any Channel) -> EventLoopFuture<UpgradeResult>) {
    self.begin = begin
    handshake = NIOTypedWebSocketClientUpgrader { channel, _ in begin(channel) }
  }

  var supportedProtocol: String { handshake.supportedProtocol }

  var requiredUpgradeHeaders: [String] { handshake.requiredUpgradeHeaders }

  func addCustom(upgradeRequestHeaders: inout HTTPHeaders) {
    handshake.addCustom(upgradeRequestHeaders: &upgradeRequestHeaders)
  }

  /// Returns whether the server's answer begins a WebSocket, without anything that was not requested.
  func shouldAllowUpgrade(upgradeResponse: HTTPResponseHead) -> Bool {
    // RFC 6455, section 4.1: a client must fail where the server selects what it was not offered.
    !upgradeResponse.headers.contains(name: "Sec-WebSocket-Extensions")
      && !upgradeResponse.headers.contains(name: "Sec-WebSocket-Protocol")
      && handshake.shouldAllowUpgrade(upgradeResponse: upgradeResponse)
  }

  func upgrade(channel: any Channel, upgradeResponse: HTTPResponseHead) -> EventLoopFuture<UpgradeResult> {
    begin(channel)
  }
}
