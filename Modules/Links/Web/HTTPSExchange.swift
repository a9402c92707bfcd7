#if TLS
  import CRDTCore
  import Foundation
  import NIOCore
  import NIOHTTP1
  import NIOSSL
  import NIOTLS

  /// One request to a web service and its answer, on a separate connection.
  ///
  /// Nothing is sent before TLS has verified the service.
  final class HTTPSExchange: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    /// Succeeds with the answer, or fails with the reason.
    let promise: EventLoopPromise<HTTPSAnswer>
    private let head: HTTPRequestHead
    private let body: [UInt8]
    private let address: HTTPSAddress
    private let limits: HTTPSClient.Limits
    private let deadline: NIODeadline
    private let readsBody: Bool
    private let receive: (@Sendable ([UInt8]) throws -> Void)?
    /// The TLS handler; `nil` without TLS.
    private let tls: NIOSSLClientHandler?
    private var phase = Phase.connecting
    private var alarm: Scheduled<Void>?
    private var lastAlarm: Scheduled<Void>?

    private enum Phase {
      /// The TCP connection or TLS is not established yet.
      case connecting
      /// The request was sent.
      case asked
      /// The part of the answer received so far.
      case answering(HTTPSAnswer)
      case over
    }

    init(
      _ head: HTTPRequestHead, _ body: [UInt8], _ address: HTTPSAddress, _ limits: HTTPSClient.Limits,
      until deadline: NIODeadline, readsBody: Bool, _ receive: (@Sendable ([UInt8]) throws -> Void)?,
      _ tls: NIOSSLClientHandler?,
      _ promise: EventLoopPromise<HTTPSAnswer>
    ) {
      (self.head, self.body, self.address) = (head, body, address)
      (self.limits, self.deadline, self.readsBody) = (limits, deadline, readsBody)
      (self.receive, self.tls, self.promise) = (receive, tls, promise)
    }

    // MARK: - The course of it

    func channelActive(context: ChannelHandlerContext) {
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      func expire(_ what: String) -> @Sendable () -> Void {
        { [address] in
          let (exchange, context) = bound.value
          exchange.fail(WebError(.timedOut, "\(address) \(what)"), context)
        }
      }
      alarm = context.eventLoop.scheduleTask(
        in: TimeAmount(limits.connecting),
        expire("has not answered TLS within \(limits.connecting.text)"))
      lastAlarm = context.eventLoop.scheduleTask(
        deadline: deadline, expire("has not answered in time, within \(limits.answering.text)"))
      context.fireChannelActive()
      if tls == nil {
        alarm?.cancel()
        ask(context)
      }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if case TLSUserEvent.handshakeCompleted(let negotiated) = event {
        alarm?.cancel()
        guard negotiated ?? "http/1.1" == "http/1.1" else {
          return fail(WebError(.answer, "\(address) speaks another protocol than HTTP/1.1"), context)
        }
        ask(context)
      }
      context.fireUserInboundEventTriggered(event)
    }

    private func ask(_ context: ChannelHandlerContext) {
      phase = .asked
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      if !body.isEmpty {
        context.write(
          wrapOutboundOut(.body(.byteBuffer(context.channel.allocator.buffer(bytes: body)))), promise: nil)
      }
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch (phase, unwrapInboundIn(data)) {
      case (.asked, .head(let head)):
        // An interim answer, such as 100.
        guard head.status.code >= 200 else { return }
        guard readsBody else { return end(.success(HTTPSAnswer(head)), context) }
        let length = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
        let answer = HTTPSAnswer(head)
        guard passesOn(answer) || length <= limits.bodyBytes else { return tooLong(context) }
        phase = .answering(answer)
      case (.answering(let answer), .body(let buffer)) where passesOn(answer):
        do { try receive?(Array(buffer.readableBytesView)) } catch {
          fail(WebError(.answer, "What \(address) answers cannot be kept: \(error)"), context)
        }
      case (.answering(var answer), .body(let buffer)):
        guard answer.body.count + buffer.readableBytes <= limits.bodyBytes else { return tooLong(context) }
        answer.body += buffer.readableBytesView
        phase = .answering(answer)
      case (.answering(let answer), .end):
        end(.success(answer), context)
      case (.asked, .end), (.over, _): break
      case (.connecting, _), (.asked, .body), (.answering, .head):
        fail(WebError(.answer, "\(address) does not answer as HTTP says"), context)
      }
    }

    /// Whether the answer's body is passed on as it arrives.
    private func passesOn(_ answer: HTTPSAnswer) -> Bool { receive != nil && 200..<300 ~= answer.status }

    private func tooLong(_ context: ChannelHandlerContext) {
      fail(WebError(.answer, "\(address) answers with more than \(limits.bodyBytes) bytes"), context)
    }

    // MARK: - The end

    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(meaning(error), context) }

    func channelInactive(context: ChannelHandlerContext) {
      let when =
        switch phase {
        case .connecting: "before TLS was there"
        case .asked, .answering, .over: "before its answer was complete"
        }
      fail(WebError(.unreachable, "\(address) ended the connection \(when)"), context)
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
      end(.failure(WebError(.unreachable, "The connection to \(address) was closed")), context)
    }

    private func fail(_ error: WebError, _ context: ChannelHandlerContext) { end(.failure(error), context) }

    private func end(_ result: Result<HTTPSAnswer, any Error>, _ context: ChannelHandlerContext) {
      if case .over = phase { return }
      phase = .over
      alarm?.cancel()
      lastAlarm?.cancel()
      promise.completeWith(result)
      context.close(promise: nil)
    }

    private func meaning(_ error: any Error) -> WebError {
      switch error {
      case let error as WebError: return error
      case is HTTPParserError:
        return WebError(.answer, "\(address) does not answer as HTTP says (\(error))")
      case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
        // Anybody could have caused an end that TLS has not announced, so the answer is not trusted.
        if case NIOSSLError.uncleanShutdown = error {
          return WebError(
            .unreachable, "\(address) broke the connection off before its answer was complete")
        }
        return WebTrustFailure(error, over: tls).error(at: address)
      default:
        let error = LinkError(tcp: error, "Cannot reach \(address)")
        return WebError(error.code == .timedOut ? .timedOut : .unreachable, error.message)
      }
    }
  }
#endif
