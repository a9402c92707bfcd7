#if Server
  import HTTPTypes
  import NIOCore
  import NIOHTTP1
  import NIOHTTPTypes

  /// Keeps one client of HTTP within its bounds: connections, the time that a body takes to come, and the time that it takes
  /// nothing of an answer.
  ///
  /// The time for headers and between requests is the library's; it stands behind this handler.
  final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// How long a connection stays open behind its last answer, so that a client which still sends can read that.
    private static let lingering = TimeAmount.milliseconds(250)

    private let ledger: ConnectionLedger
    private let limits: HTTPLimits
    /// The address under which the connection is counted.
    private var counted: SocketAddress??
    /// Requests whose answer has not ended.
    private var owed = 0
    /// Whether the end of the newest request's body has not come.
    private var isBodyPending = false
    /// Whether an answer has begun and not ended.
    private var isAnswering = false
    private var closesBehindAnswer = false
    private var isOver = false
    private var bodyDeadline: Scheduled<Void>?
    private var stallDeadline: Scheduled<Void>?

    init(_ ledger: ConnectionLedger, _ limits: HTTPLimits) {
      self.ledger = ledger
      self.limits = limits
    }

    // MARK: - The connection

    func handlerAdded(context: ChannelHandlerContext) { if context.channel.isActive { count(context) } }

    func channelActive(context: ChannelHandlerContext) {
      count(context)
      context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
      end()
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func count(_ context: ChannelHandlerContext) {
      guard counted == nil, !isOver else { return }
      let address = context.channel.remoteAddress
      guard ledger.open(address) else {
        isOver = true
        return context.close(promise: nil)
      }
      counted = .some(address)
    }

    private func end() {
      isOver = true
      bodyDeadline?.cancel()
      stallDeadline?.cancel()
      (bodyDeadline, stallDeadline) = (nil, nil)
      if let address = counted { ledger.close(address) }
      counted = nil
    }

    // MARK: - Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard !isOver else { return }
      switch unwrapInboundIn(data) {
      case .head(let head):
        owed += 1
        isBodyPending = true
        goOn(head, context)
      case .body: break
      case .end:
        isBodyPending = false
        bodyDeadline?.cancel()
        bodyDeadline = nil
      }
      context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      watchBody(context)
      context.fireChannelReadComplete()
    }

    /// Tells a client that asks before it sends a large body to go on, unless the body is too large.
    private func goOn(_ head: HTTPRequest, _ context: ChannelHandlerContext) {
      guard owed == 1, head.headerFields[.expect]?.lowercased() == "100-continue",
        (head.headerFields[.contentLength].flatMap { Int($0) } ?? 0) <= limits.bodyBytes
      else { return }
      context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
    }

    /// Gives the body its time from now on; that of a request which waits for the one before it has all time.
    private func watchBody(_ context: ChannelHandlerContext) {
      guard isBodyPending, owed == 1, bodyDeadline == nil, !isOver else { return }
      bodyDeadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.bodyTime)) {
        [weak self] in
        guard let self, isBodyPending, !isOver else { return }
        refuse(
          Problem(
            .requestTimeout, "timeout", "the body has not come within \(limits.bodyTime)"), context)
      }
    }

    /// A request that cannot be read.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      guard !isOver else { return }
      guard error is HTTPParserError || owed == 0 else { return context.fireErrorCaught(error) }
      let isLarge = (error as? HTTPParserError) == .headerOverflow
      refuse(
        isLarge
          ? Problem(
            .requestHeaderFieldsTooLarge, "headersTooLarge",
            "the headers must have at most \(limits.headerBytes) bytes, and be \(limits.headerCount) at most")
          : Problem(.badRequest, "request", "the request is not HTTP/1.1 as it should be"), context)
    }

    /// Answers with a problem where that is possible, and ends the connection.
    private func refuse(_ problem: Problem, _ context: ChannelHandlerContext) {
      let canAnswer = !isAnswering && owed <= 1
      isOver = true
      guard canAnswer else { return context.close(promise: nil) }
      let body = problem.body
      let head = HTTPResponse(
        status: problem.status,
        headerFields: [
          .contentType: "application/problem+json", .contentLength: "\(body.count)", .connection: "close",
        ])
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      context.write(wrapOutboundOut(.body(ByteBuffer(bytes: body))), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
      closeSoon(context)
    }

    // MARK: - Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      guard !isOver else {
        promise?.fail(ChannelError.ioOnClosedChannel)
        return
      }
      switch unwrapOutboundIn(data) {
      case .head(var head) where head.status.kind != .informational:
        isAnswering = true
        // What is left of the body is not read, so that there is no next request.
        if isBodyPending && owed == 1 { head.headerFields[.connection] = "close" }
        closesBehindAnswer = head.headerFields[.connection] == "close"
        context.write(wrapOutboundOut(.head(head)), promise: promise)
      case .head, .body: context.write(data, promise: promise)
      case .end:
        context.write(data, promise: promise)
        owed -= 1
        isAnswering = false
        if closesBehindAnswer {
          context.flush()
          closeSoon(context)
        } else {
          watchBody(context)
        }
      }
    }

    private func closeSoon(_ context: ChannelHandlerContext) {
      _ = context.eventLoop.assumeIsolated().scheduleTask(in: Self.lingering) { context.close(promise: nil) }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
      stallDeadline?.cancel()
      stallDeadline = nil
      if !context.channel.isWritable, !isOver {
        stallDeadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.stallTime)) {
          context.close(promise: nil)
        }
      }
      context.fireChannelWritabilityChanged()
    }
  }
#endif
