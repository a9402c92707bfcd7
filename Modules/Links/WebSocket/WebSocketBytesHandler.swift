import NIOCore
import NIOWebSocket

/// Carries a link's bytes in binary messages of a WebSocket, each a frame of its own.
final class WebSocketBytesHandler: ChannelDuplexHandler {
  typealias InboundIn = WebSocketFrame
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = WebSocketFrame

  /// The largest message that is sent, in bytes; proxies buffer messages.
  private static let messageBytes = 64 << 10
  /// The largest frame that is received, in bytes.
  static let frameLimit = 64 << 10

  /// Whether this end is the client; clients mask what they send.
  private let isClient: Bool
  private let name: String
  /// Succeeds when this end's last frame has gone out.
  private var lastWritten: EventLoopFuture<Void>?
  private var hasSentClose: Bool { lastWritten != nil }
  private var hasSeenClose = false

  init(isClient: Bool, name: String) {
    self.isClient = isClient
    self.name = name
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    switch frame.opcode {
    case .binary, .continuation:
      guard !hasSeenClose else { return }
      let bytes = frame.unmaskedData
      if bytes.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(bytes)) }
    case .ping:
      // A peer that does not read gets no more pongs, so that they do not pile up.
      guard context.channel.isWritable, !hasSentClose else { return }
      write(.pong, frame.unmaskedData, context, nil)
      context.flush()
    case .pong: break
    case .connectionClose:
      hasSeenClose = true
      context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
      closeIfOver(context)
    default:
      context.fireErrorCaught(LinkError(.disconnected, "\(name) sent a message that is not binary"))
    }
  }

  /// A connection that ends without a close frame has not ended in order.
  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case ChannelEvent.inputClosed = event else { return context.fireUserInboundEventTriggered(event) }
    guard !hasSeenClose else { return }
    context.fireErrorCaught(LinkError(.disconnected, "\(name) ended the connection without a word"))
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    var bytes = unwrapOutboundIn(data)
    guard bytes.readableBytes > 0 else {
      // Succeeds when everything before it has gone out.
      return write(.pong, bytes, context, promise)
    }
    while let piece = bytes.readSlice(length: min(bytes.readableBytes, Self.messageBytes)) {
      write(.binary, piece, context, bytes.readableBytes == 0 ? promise : nil)
      if bytes.readableBytes == 0 { break }
    }
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard mode == .output else { return context.close(mode: mode, promise: promise) }
    guard !hasSentClose else {
      promise?.fail(ChannelError.outputClosed)
      return
    }
    let written = promise ?? context.eventLoop.makePromise(of: Void.self)
    lastWritten = written.futureResult
    var code = context.channel.allocator.buffer(capacity: 2)
    code.write(webSocketErrorCode: .normalClosure)
    write(.connectionClose, code, context, written)
    context.flush()
    closeIfOver(context)
  }

  /// Closes the connection when both ends have sent a close frame, and this one's has gone out.
  private func closeIfOver(_ context: ChannelHandlerContext) {
    guard hasSeenClose else { return }
    lastWritten?.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
  }

  private func write(
    _ opcode: WebSocketOpcode, _ bytes: ByteBuffer, _ context: ChannelHandlerContext,
    _ promise: EventLoopPromise<Void>?
  ) {
    let frame = WebSocketFrame(
      fin: true, opcode: opcode, maskKey: isClient ? .random() : nil, data: bytes)
    context.write(wrapOutboundOut(frame), promise: promise)
  }
}
