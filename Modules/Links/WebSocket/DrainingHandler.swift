import NIOCore

/// Ends a connection such that the other end can read what was sent last.
///
/// A socket that is closed while bytes wait to be read is reset, and the other end may lose an answer that it
/// has not read yet. So the last bytes go out first. Then this end drops what arrives, until the other end
/// closes, or has sent much more, or a second has passed.
final class DrainingHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer

  private static let patience = TimeAmount.seconds(1)
  private static let byteLimit = 256 << 10

  private enum Course {
    case draining
    case over
  }

  private let waitsForOther: Bool
  private var course = Course.draining
  private var droppedBytes = 0
  private var timeOut: Scheduled<Void>?

  /// Makes a handler.
  ///
  /// - Parameter waitsForOther: Whether to wait until the other end closes, after the last bytes went out.
  private init(waitsForOther: Bool) { self.waitsForOther = waitsForOther }

  /// Sends the last bytes, and closes the connection after that; on the event loop of the channel.
  ///
  /// - Parameters:
  ///   - channel: The channel.
  ///   - position: Where the handler stands. Handlers behind it receive nothing more, and cannot close the
  ///     connection before its time.
  ///   - waitsForOther: Whether to wait until the other end closes, after the last bytes have gone out.
  ///   - send: Writes and flushes the last bytes.
  static func end(
    _ channel: any Channel, at position: ChannelPipeline.SynchronousOperations.Position,
    waitsForOther: Bool, _ send: (EventLoopPromise<Void>) -> Void
  ) {
    let handler = DrainingHandler(waitsForOther: waitsForOther)
    do {
      try channel.pipeline.syncOperations.addHandler(handler, position: position)
    } catch {
      return channel.close(promise: nil)
    }
    let sent = channel.eventLoop.makePromise(of: Void.self)
    sent.futureResult.assumeIsolated().whenComplete { result in
      guard let context = handler.context else { return }
      guard case .success = result, waitsForOther else { return handler.close(context) }
      context.close(mode: .output, promise: nil)
    }
    send(sent)
  }

  private var context: ChannelHandlerContext?

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    timeOut = context.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) { self.close(context) }
    context.read()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    timeOut?.cancel()
    self.context = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    droppedBytes += unwrapInboundIn(data).readableBytes
    if droppedBytes > Self.byteLimit { close(context) }
  }

  func channelReadComplete(context: ChannelHandlerContext) { context.read() }

  /// Drops requests of the handlers behind it: this handler reads by itself.
  func read(context: ChannelHandlerContext) {}

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed = event { close(context) }
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    switch course {
    case .over: context.close(mode: mode, promise: promise)
    case .draining: context.channel.closeFuture.cascade(to: promise)
    }
  }

  private func close(_ context: ChannelHandlerContext) {
    guard case .draining = course else { return }
    course = .over
    timeOut?.cancel()
    context.close(promise: nil)
  }
}
