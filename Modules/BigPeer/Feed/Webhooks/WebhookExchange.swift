#if Server
  import Foundation
  import NIOCore
  import NIOHTTP1
  import NIOSSL
  import NIOTLS
  import Synchronization

  /// One request to a webhook and its answer, on a connection of their own.
  final class WebhookExchange: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let body: [UInt8]
    private let headers: [(name: String, value: String)]
    private let address: WebhookAddress
    private let isSecure: Bool
    private let end: NIODeadline
    private let promise: EventLoopPromise<Void>
    private var alarm: Scheduled<Void>?
    private var phase = Phase.connecting

    private enum Phase { case connecting, asked, over }

    /// The longest wait that a receiver can ask for.
    private static let longestWait = Duration.seconds(3_600)

    init(
      _ body: [UInt8], _ headers: [(name: String, value: String)], _ address: WebhookAddress, isSecure: Bool,
      _ end: NIODeadline, _ promise: EventLoopPromise<Void>
    ) {
      (self.body, self.headers, self.address) = (body, headers, address)
      (self.isSecure, self.end, self.promise) = (isSecure, end, promise)
    }

    func channelActive(context: ChannelHandlerContext) {
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      alarm = context.eventLoop.scheduleTask(deadline: end) { [address] in
        let (exchange, context) = bound.value
        exchange.finish(.failure(WebhookFailure(WebhookClient.late(address))), context)
      }
      context.fireChannelActive()
      if !isSecure { ask(context) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if case TLSUserEvent.handshakeCompleted = event { ask(context) }
      context.fireUserInboundEventTriggered(event)
    }

    private func ask(_ context: ChannelHandlerContext) {
      guard case .connecting = phase else { return }
      phase = .asked
      var fields: HTTPHeaders = [
        "Host": address.authority, "Connection": "close", "Content-Type": "application/json",
        "Content-Length": "\(body.count)", "User-Agent": "dunlin-bigpeer", "Accept": "*/*",
      ]
      for (name, value) in headers { fields.add(name: name, value: value) }
      let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: address.target, headers: fields)
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      context.write(
        wrapOutboundOut(.body(.byteBuffer(context.channel.allocator.buffer(bytes: body)))), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      // The status says all; nobody reads the body.
      guard case .asked = phase, case .head(let head) = unwrapInboundIn(data), head.status.code >= 200 else {
        return
      }
      finish(verdict(on: head), context)
    }

    private func verdict(on head: HTTPResponseHead) -> Result<Void, any Error> {
      let status = head.status.code
      switch status {
      case 200..<300: return .success(())
      case 300..<400:
        return .failure(
          WebhookFailure("\(address) redirects (status \(status)), and redirects are not followed"))
      case 410: return .failure(WebhookFailure("\(address) is gone (status 410)", isGone: true))
      default:
        let wait = head.headers.first(name: "retry-after").flatMap { Int($0) }
        return .failure(
          WebhookFailure(
            "\(address) answers with status \(status)",
            retryAfter: wait.map { min(.seconds(max($0, 0)), Self.longestWait) }, isTooLarge: status == 413))
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      finish(.failure(WebhookFailure(WebhookClient.text(error, address))), context)
    }

    func channelInactive(context: ChannelHandlerContext) {
      finish(.failure(WebhookFailure("\(address) ended the connection before its answer")), context)
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
      finish(.failure(WebhookFailure("the connection to \(address) was closed")), context)
    }

    private func finish(_ result: Result<Void, any Error>, _ context: ChannelHandlerContext) {
      if case .over = phase { return }
      phase = .over
      alarm?.cancel()
      promise.completeWith(result)
      context.close(promise: nil)
    }
  }

  /// The channel of a request, which is closed when the request's task is cancelled.
  final class ExchangeBox: Sendable {
    private struct State {
      var channel: (any Channel)?
      var isCancelled = false
    }

    private let state = Mutex(State())

    /// - Throws: `CancellationError` when that was before.
    func begin(on channel: any Channel) throws {
      try state.withLock { state in
        if state.isCancelled { throw CancellationError() }
        state.channel = channel
      }
    }

    func cancel() {
      let channel = state.withLock { state in
        state.isCancelled = true
        return state.channel
      }
      channel?.close(promise: nil)
    }
  }
#endif
