#if Server
  import NIOCore

  /// Passes the bytes of a connection to the HTTP decoder request by request, and none while two responses
  /// are owed.
  ///
  /// A client may send requests without waiting for the responses. Decoded, each of them takes a multiple of
  /// its bytes. So the decoder gets no more than the next request, and the rest waits where it takes least:
  /// here, up to one read, and in the buffers of the system.
  final class RequestPacer: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What the bytes that come next belong to.
    enum Awaited {
      /// The head of a request.
      case head
      /// A body of which so many bytes are missing.
      case body(Int)
      /// A body in chunks.
      case chunks
    }

    /// The number of requests whose response is owed, from which on nothing is passed.
    private static let requests = 2
    /// The bytes of a body in chunks that are passed at a time.
    ///
    /// It ends at an unknown place, so this bounds how many requests may come behind it.
    private static let chunkedBytes = 512

    /// The bytes that have been received and not passed on.
    private var held = ByteBuffer()
    /// Whether a read has to be made up for once all is passed on.
    private var owesRead = false
    private var isPassing = false
    private var context: ChannelHandlerContext?
    /// The handler behind the decoder, which knows what is owed.
    ///
    /// It has this one, so it is released at the end.
    private var connection: ConnectionGuard?

    init(_ connection: ConnectionGuard) { self.connection = connection }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { (self.context, connection) = (nil, nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var bytes = unwrapInboundIn(data)
      if held.readableBytes == 0 { held = bytes } else { held.writeBuffer(&bytes) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { pass(context) }

    func read(context: ChannelHandlerContext) {
      if held.readableBytes > 0 || isFull { owesRead = true } else { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      // A client that ends a connection does not wait for responses: waiting requests are not carried out.
      if event as? ChannelEvent == .inputClosed { held.clear() }
      context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
      held.clear()
      context.fireChannelInactive()
    }

    /// Goes on after a response has ended.
    func resume() {
      guard let context, owesRead || held.readableBytes > 0 else { return }
      pass(context)
    }

    private var isFull: Bool { (connection?.owed ?? 0) >= Self.requests }

    private func pass(_ context: ChannelHandlerContext) {
      guard !isPassing else { return }
      isPassing = true
      if connection?.ignoresInput ?? true { held.clear() }
      while !isFull, let piece = held.readSlice(length: nextLength), piece.readableBytes > 0 {
        context.fireChannelRead(wrapInboundOut(piece))
      }
      isPassing = false
      context.fireChannelReadComplete()
      guard held.readableBytes == 0 else { return }
      // A new buffer, so that the memory of the old one is freed.
      held = ByteBuffer()
      guard owesRead, !isFull else { return }
      owesRead = false
      context.read()
    }

    /// The number of held bytes that end no more than one request.
    private var nextLength: Int {
      switch connection?.awaited ?? .head {
      case .head: held.withUnsafeReadableBytes { Self.headLength($0) }
      case .body(let missing) where missing > 0: min(missing, held.readableBytes)
      case .body, .chunks: min(Self.chunkedBytes, held.readableBytes)
      }
    }

    /// The number of bytes up to the end of the first empty line, or of all.
    static func headLength(_ bytes: UnsafeRawBufferPointer) -> Int {
      var lineLength = 0
      for (index, byte) in bytes.enumerated() {
        if byte == 0x0A {
          // Empty lines before a request belong to it.
          if lineLength == 0, index > 1 { return index + 1 }
          lineLength = 0
        } else if byte != 0x0D {
          lineLength += 1
        }
      }
      return bytes.count
    }
  }
#endif
