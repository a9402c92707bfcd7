import NIOCore

/// Carries a link's bytes in binary messages of a WebSocket, each a frame of its own.
final class WebSocketBytesHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Says that the peer is admitted; triggered as an event by the link.
  enum Event { case admitted }

  private enum Course {
    case open
    /// The other end has sent its close frame, and everything before it was handed on.
    case closing
    /// The other end has broken a rule, or has closed the connection with an error.
    case over
  }

  /// The largest message that is sent, in bytes; proxies buffer messages.
  private static let messageBytes = 64 << 10

  /// Whether this end is the client; clients mask what they send.
  private let isClient: Bool
  private let name: String
  private var receiver: WebSocketReceiver
  private var course = Course.open
  /// Succeeds when this end's last frame has gone out.
  private var lastWritten: EventLoopFuture<Void>?
  private var hasSentClose: Bool { lastWritten != nil }
  /// Set while the connection is not read because of too many frames.
  private var pause: Scheduled<Void>?
  /// Whether a handler wanted to read during the pause.
  private var owesRead = false

  /// Makes the handler of one connection.
  ///
  /// - Parameters:
  ///   - isClient: Whether this end has requested the connection.
  ///   - name: The other end's address, in errors.
  ///   - awaitsAdmission: Whether `Event.admitted` comes when the peer has identified itself, before which
  ///     it may send little.
  init(isClient: Bool, name: String, awaitsAdmission: Bool = false) {
    self.isClient = isClient
    self.name = name
    receiver = WebSocketReceiver(
      isClient: isClient, allowance: WebSocketAllowance(awaitsAdmission: awaitsAdmission))
  }

  func handlerRemoved(context: ChannelHandlerContext) { pause?.cancel() }

  // MARK: - Receiving

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard course == .open else { return }
    var bytes = unwrapInboundIn(data)
    var content = context.channel.allocator.buffer(capacity: bytes.readableBytes)
    var events: [WebSocketReceiver.Event] = []
    let now = NIODeadline.now()
    let violation: WebSocketViolation?
    do throws(WebSocketViolation) {
      try receiver.receive(&bytes, into: &content, &events, at: now)
      violation = nil
    } catch {
      violation = error
    }
    if content.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(content)) }
    for event in events { carryOut(event, context) }
    if let violation {
      return end(context, violation.code, "\(name) sent \(violation.what)", .malformed, violation.what)
    }
    if let wait = receiver.allowance.pause(at: now) { stopReading(for: wait, context) }
  }

  private func carryOut(_ event: WebSocketReceiver.Event, _ context: ChannelHandlerContext) {
    switch event {
    case .ping(let content):
      // A peer that does not read gets no more pongs, so that they do not pile up.
      guard context.channel.isWritable, !hasSentClose else { return }
      write(WebSocketFrame(opcode: .pong, content: ByteBuffer(bytes: content)), context, nil)
      context.flush()
    case .close(let code, let reason):
      guard let code, !code.isOrderly else {
        course = .closing
        context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        return closeIfOver(context)
      }
      let words = reason.isEmpty ? "" : " (\(PlainText.of(reason)))"
      end(context, code, "\(name) closed the WebSocket with code \(code.rawValue)\(words)", .disconnected)
    }
  }

  /// Ends the connection with a close frame.
  private func end(
    _ context: ChannelHandlerContext, _ code: WebSocketCloseCode, _ message: String,
    _ kind: LinkError.Code, _ reason: String = ""
  ) {
    guard course == .open else { return }
    course = .over
    pause?.cancel()
    DrainingHandler.end(context.channel, at: .before(self), waitsForOther: !isClient) { sent in
      // Before the last frame: a connection that then closes at once would count as broken.
      context.fireErrorCaught(LinkError(kind, message))
      guard !hasSentClose else { return sent.succeed(()) }
      write(WebSocketFrame.close(code, reason), context, sent)
      context.flush()
    }
  }

  /// A connection that ends without a close frame has not ended in order.
  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case ChannelEvent.inputClosed = event else { return context.fireUserInboundEventTriggered(event) }
    guard course == .open else { return }
    context.fireErrorCaught(LinkError(.disconnected, "\(name) ended the connection without a word"))
  }

  // MARK: - The pace

  func triggerUserOutboundEvent(
    context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
  ) {
    guard case Event.admitted = event else {
      return context.triggerUserOutboundEvent(event, promise: promise)
    }
    receiver.allowance.admit()
    promise?.succeed(())
  }

  func read(context: ChannelHandlerContext) {
    owesRead = pause != nil
    if !owesRead { context.read() }
  }

  private func stopReading(for wait: TimeAmount, _ context: ChannelHandlerContext) {
    pause?.cancel()
    pause = context.eventLoop.assumeIsolated().scheduleTask(in: wait) {
      self.pause = nil
      guard self.owesRead else { return }
      self.owesRead = false
      context.read()
    }
  }

  // MARK: - Sending

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    var bytes = unwrapOutboundIn(data)
    guard bytes.readableBytes > 0 else {
      // Succeeds when everything before it has gone out.
      return write(WebSocketFrame(opcode: .pong, content: bytes), context, promise)
    }
    while let piece = bytes.readSlice(length: min(bytes.readableBytes, Self.messageBytes)) {
      let isLast = bytes.readableBytes == 0
      write(WebSocketFrame(opcode: .binary, content: piece), context, isLast ? promise : nil)
      if isLast { break }
    }
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard mode == .output else { return context.close(mode: mode, promise: promise) }
    guard !hasSentClose, course != .over else {
      promise?.fail(ChannelError.outputClosed)
      return
    }
    let written = promise ?? context.eventLoop.makePromise(of: Void.self)
    lastWritten = written.futureResult
    write(.close(.normal), context, written)
    context.flush()
    closeIfOver(context)
  }

  /// Closes the connection when both ends have sent a close frame, and this one's has gone out.
  private func closeIfOver(_ context: ChannelHandlerContext) {
    guard course == .closing else { return }
    lastWritten?.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
  }

  private func write(
    _ frame: WebSocketFrame, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?
  ) {
    var buffers = frame.bytes(mask: isClient ? .random(in: 0 ... .max) : nil, context.channel.allocator)
    let last = buffers.removeLast()
    for buffer in buffers { context.write(wrapOutboundOut(buffer), promise: nil) }
    context.write(wrapOutboundOut(last), promise: promise)
  }
}
