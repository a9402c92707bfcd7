#if Server
  import HTTPTypes
  import Links
  import NIOCore
  import NIOHTTP1
  import NIOHTTPTypes
  import Platform

  /// Enforces the limits of one HTTP client.
  ///
  /// The limits are: connections, the time in which a body must arrive, and the time for which the client may
  /// read nothing of a response. A ``RequestPacer`` bounds the requests in hand.
  /// The library limits the time for headers and between requests; its handler is behind this one.
  final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// How long a connection stays open after its last response.
    ///
    /// A client that still sends can then read that response.
    private static let lingering = TimeAmount.milliseconds(250)

    /// The bytes that are read of a connection at a time.
    private static let readBytes = 16 << 10

    /// How many bytes the system takes of a response that it cannot send yet.
    private static let unsentBytes = 256 << 10

    private let ledger: ConnectionLedger
    private let limits: HTTPLimits
    /// Gets a report of each request that this handler answers itself, before any route.
    private let report: @Sendable (RequestReport) -> Void
    private var isCounted = false
    /// The number of requests whose response has not ended.
    private(set) var owed = 0
    /// Whether the end of the newest request's body is still missing.
    private var isBodyPending = false
    /// What the bytes that come next belong to.
    private(set) var awaited = RequestPacer.Awaited.head
    private var pacer: RequestPacer?
    /// Whether a response has begun and not ended.
    private var isAnswering = false
    private var closesBehindAnswer = false
    /// Whether further input is ignored; only requests that have arrived completely are answered.
    private var dropsInput = false
    /// The response to a request that cannot be read, sent after those to the requests before it.
    private var refusal: Problem?
    private var isOver = false
    /// Whether what the client still sends is not looked at.
    var ignoresInput: Bool { isOver || dropsInput }
    private var bodyDeadline: Scheduled<Void>?
    private var stallDeadline: Scheduled<Void>?

    init(
      _ ledger: ConnectionLedger, _ limits: HTTPLimits, report: @escaping @Sendable (RequestReport) -> Void
    ) {
      self.ledger = ledger
      self.limits = limits
      self.report = report
    }

    // MARK: - The connection

    func handlerAdded(context: ChannelHandlerContext) {
      let pacer = RequestPacer(self)
      do {
        let pipeline = context.pipeline.syncOperations
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
        try pipeline.addHandler(pacer, position: .before(decoder))
        try pipeline.addHandler(RequestHeadCheck(), position: .after(decoder))
        self.pacer = pacer
      } catch {
        // Without it a client could have any number of requests in hand.
        isOver = true
        return context.close(promise: nil)
      }
      // A body that waits for memory has several reads in hand.
      context.channel.setOption(
        .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.readBytes)
      ).whenFailure { _ in }
      // The system would copy megabytes for each client that does not read.
      context.channel.setOption(.tcpOption(.init(rawValue: TCP_NOTSENT_LOWAT)), value: Self.unsentBytes)
        .whenFailure { _ in }
      if context.channel.isActive { count(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
      count(context)
      context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
      end(context)
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end(context) }

    private func count(_ context: ChannelHandlerContext) {
      guard !isCounted, !isOver else { return }
      guard ledger.open(context.channel) else {
        isOver = true
        return context.close(promise: nil)
      }
      isCounted = true
    }

    private func end(_ context: ChannelHandlerContext) {
      isOver = true
      bodyDeadline?.cancel()
      stallDeadline?.cancel()
      (bodyDeadline, stallDeadline) = (nil, nil)
      if isCounted { ledger.close(context.channel) }
      isCounted = false
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      // A client that ends a connection does not wait for its responses.
      if event as? ChannelEvent == .inputClosed, owed > 0 { ledger.abandon(context.channel, .abandoned) }
      context.fireUserInboundEventTriggered(event)
    }

    // MARK: - Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard !ignoresInput else { return }
      switch unwrapInboundIn(data) {
      case .head(let head):
        owed += 1
        isBodyPending = true
        awaited = head.headerFields[.contentLength].flatMap { Int($0) }.map { .body($0) } ?? .chunks
        goOn(head, context)
      case .body(let bytes):
        if case .body(let missing) = awaited { awaited = .body(missing - bytes.readableBytes) }
      case .end:
        awaited = .head
        endBody()
      }
      context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      watchBody(context)
      context.fireChannelReadComplete()
    }

    /// Stops waiting for the rest of the newest request's body.
    private func endBody() {
      isBodyPending = false
      bodyDeadline?.cancel()
      bodyDeadline = nil
    }

    /// Sends `100 Continue` to a client that asks for it before a large body, unless the body is too large.
    private func goOn(_ head: HTTPRequest, _ context: ChannelHandlerContext) {
      guard owed == 1, head.headerFields[.expect]?.lowercased() == "100-continue",
        (head.headerFields[.contentLength].flatMap { Int($0) } ?? 0) <= limits.bodyBytes
      else { return }
      context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
    }

    /// Starts the time limit of the body; a request that waits for the one before it has no limit yet.
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

    /// Handles a request that cannot be read.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      guard !ignoresInput else { return }
      guard let problem = problem(of: error) else { return context.fireErrorCaught(error) }
      dropsInput = true
      let whole = isBodyPending ? owed - 1 : owed
      if whole == 0 { return refuse(problem, context) }
      // Requests that arrived completely may take effect, so they get their responses first.
      if isBodyPending { refusal = problem } else { tell(problem, context) }
      endBody()
    }

    /// The problem of a request that cannot be read; `nil` for an error that is not the client's.
    private func problem(of error: any Error) -> Problem? {
      switch error {
      case let refusal as RequestHeadCheck.Refusal: refusal.problem
      case HTTPParserError.headerOverflow:
        Problem(
          .requestHeaderFieldsTooLarge, "headersTooLarge",
          "the headers must have at most \(limits.headerBytes) bytes, and be \(limits.headerCount) at most")
      case _ where error is HTTPParserError || owed == 0:
        Problem.request("the request is not HTTP/1.1 as it should be")
      default: nil
      }
    }

    /// Responds with a problem, and ends the connection; nothing of the request takes effect.
    private func refuse(_ problem: Problem, _ context: ChannelHandlerContext) {
      isOver = true
      ledger.abandon(context.channel, problem)
      // A request that has reached its route is reported by the route.
      if owed == 0 { tell(problem, context) }
      guard !isAnswering else { return context.close(promise: nil) }
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

    private func tell(_ problem: Problem, _ context: ChannelHandlerContext) {
      report(
        RequestReport(
          method: nil, route: "unknown", routeNumber: RouteList.none, status: problem.status.code,
          address: context.channel.remoteAddress?.unmappedIPAddress ?? "unknown", application: nil, key: nil,
          failure: nil, error: nil, time: .zero))
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
        if owed == 1, isBodyPending {
          // The rest of the body is not read, so there is no next request.
          dropsInput = true
          endBody()
        }
        if dropsInput, owed == 1 { head.headerFields[.connection] = "close" }
        closesBehindAnswer = head.headerFields[.connection] == "close"
        if closesBehindAnswer { dropsInput = true }
        context.write(wrapOutboundOut(.head(head)), promise: promise)
      case .head, .body: context.write(data, promise: promise)
      case .end:
        owed -= 1
        isAnswering = false
        let closes = closesBehindAnswer && !(refusal != nil && owed == 1)
        writeEnd(data, closes: closes, context, promise)
        if let refusal, owed == 1 {
          refuse(refusal, context)
        } else if !closes {
          watchBody(context)
          pacer?.resume()
        }
      }
    }

    /// Writes the end of a response, and perhaps closes the connection once the client has all of it.
    private func writeEnd(
      _ data: NIOAny, closes: Bool, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?
    ) {
      guard closes else { return context.write(data, promise: promise) }
      let written = promise ?? context.eventLoop.makePromise(of: Void.self)
      written.futureResult.assumeIsolated().whenComplete { [weak self] _ in self?.closeSoon(context) }
      context.writeAndFlush(data, promise: written)
    }

    private func closeSoon(_ context: ChannelHandlerContext) {
      _ = context.eventLoop.assumeIsolated().scheduleTask(in: Self.lingering) { context.close(promise: nil) }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
      stallDeadline?.cancel()
      stallDeadline = nil
      if !context.channel.isWritable, !isOver {
        stallDeadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.stallTime)) {
          [ledger] in
          // The log says why the response broke off.
          ledger.abandon(context.channel, .stalled)
          context.close(promise: nil)
        }
      }
      context.fireChannelWritabilityChanged()
    }
  }
#endif
