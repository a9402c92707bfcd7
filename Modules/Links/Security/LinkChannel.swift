#if TLS
  import NIOConcurrencyHelpers
  import NIOCore

  /// The events that a channel over a link reports to its owner, on the channel's event loop.
  protocol LinkChannelOwner: AnyObject, Sendable {
    /// Takes bytes to send over the link.
    func channelWrote(_ bytes: [UInt8])
    /// Takes received bytes that have passed through the handlers.
    func channelRead(_ bytes: [UInt8])
    /// Takes an error that a handler has reported.
    func channelFailed(_ error: any Error)
    /// Takes an event that handlers have reported.
    func channelEvent(_ event: Any)
    /// Asks to end the output after what was written, or to close all of it.
    func channelClosed(_ mode: CloseMode)
  }

  /// A channel of the network library on top of a link, so that any link can use the library's handlers.
  // SAFETY: the mutable state is used on the event loop only, except for what a lock protects.
  final class LinkChannel: Channel, ChannelCore, @unchecked Sendable {
    let eventLoop: any EventLoop
    let allocator = ByteBufferAllocator()
    private let activity = NIOLockedValueBox((isActive: false, isOpen: true))
    private let closePromise: EventLoopPromise<Void>
    private(set) lazy var pipeline = ChannelPipeline(channel: self)
    private weak let owner: (any LinkChannelOwner)?
    private var written: [(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)] = []

    /// Makes an inactive channel.
    ///
    /// Must run on the channel's event loop.
    init(_ loop: any EventLoop, owner: any LinkChannelOwner) {
      eventLoop = loop
      self.owner = owner
      closePromise = loop.makePromise()
      _ = pipeline
    }

    /// Adds the handlers and activates the channel.
    func begin(_ handlers: [any ChannelHandler]) throws {
      try pipeline.syncOperations.addHandlers(handlers)
      activity.withLockedValue { $0.isActive = true }
      pipeline.fireChannelRegistered()
      pipeline.fireChannelActive()
    }

    /// Passes bytes from the link to the handlers.
    func received(_ bytes: [UInt8]) {
      guard activity.withLockedValue({ $0.isOpen }) else { return }
      pipeline.syncOperations.fireChannelRead(NIOAny(allocator.buffer(bytes: bytes)))
      pipeline.syncOperations.fireChannelReadComplete()
    }

    /// The link has ended, in order or not.
    func linkEnded() { close0(error: ChannelError.eof, mode: .all, promise: nil) }

    // MARK: - Channel

    var closeFuture: EventLoopFuture<Void> { closePromise.futureResult }
    var localAddress: SocketAddress? { nil }
    var remoteAddress: SocketAddress? { nil }
    var parent: (any Channel)? { nil }
    var isWritable: Bool { true }
    var isActive: Bool { activity.withLockedValue { $0.isActive } }
    var _channelCore: any ChannelCore { self }
    var syncOptions: (any NIOSynchronousChannelOptions)? { Options() }

    func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
      eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
    }

    func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
      eventLoop.makeCompletedFuture { try Options().getOption(option) }
    }

    /// Both directions end independently, and received bytes are delivered without a read request.
    private struct Options: NIOSynchronousChannelOptions {
      func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) throws {
        throw ChannelError.operationUnsupported
      }

      func getOption<Option: ChannelOption>(_ option: Option) throws -> Option.Value {
        let isOn =
          option is ChannelOptions.Types.AllowRemoteHalfClosureOption
          || option is ChannelOptions.Types.AutoReadOption
        guard isOn, let value = true as? Option.Value else { throw ChannelError.operationUnsupported }
        return value
      }
    }

    // MARK: - ChannelCore

    func localAddress0() throws -> SocketAddress { throw ChannelError.operationUnsupported }

    func remoteAddress0() throws -> SocketAddress { throw ChannelError.operationUnsupported }

    func register0(promise: EventLoopPromise<Void>?) { promise?.fail(ChannelError.operationUnsupported) }

    func registerAlreadyConfigured0(promise: EventLoopPromise<Void>?) {
      promise?.fail(ChannelError.operationUnsupported)
    }

    func bind0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
      promise?.fail(ChannelError.operationUnsupported)
    }

    func connect0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
      promise?.fail(ChannelError.operationUnsupported)
    }

    func write0(_ data: NIOAny, promise: EventLoopPromise<Void>?) {
      written.append((unwrapData(data, as: ByteBuffer.self), promise))
    }

    func flush0() {
      let all = written
      written = []
      var bytes: [UInt8] = []
      bytes.reserveCapacity(all.reduce(0) { $0 + $1.bytes.readableBytes })
      for piece in all { bytes += piece.bytes.readableBytesView }
      if !bytes.isEmpty { owner?.channelWrote(bytes) }
      for piece in all { piece.promise?.succeed() }
    }

    func read0() {}

    func close0(error: any Error, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      guard activity.withLockedValue({ $0.isOpen }) else {
        promise?.fail(ChannelError.alreadyClosed)
        return
      }
      if mode != .all {
        if mode == .output { owner?.channelClosed(.output) }
        promise?.succeed()
        return
      }
      activity.withLockedValue { $0 = (false, false) }
      for piece in written { piece.promise?.fail(error) }
      written = []
      promise?.succeed()
      pipeline.fireChannelInactive()
      pipeline.fireChannelUnregistered()
      // Calls through the pipeline may still be running.
      eventLoop.execute { [self] in
        removeHandlers(pipeline: pipeline)
        closePromise.succeed()
      }
      owner?.channelClosed(.all)
    }

    func triggerUserOutboundEvent0(_ event: Any, promise: EventLoopPromise<Void>?) {
      promise?.fail(ChannelError.operationUnsupported)
    }

    func channelRead0(_ data: NIOAny) {
      let buffer = unwrapData(data, as: ByteBuffer.self)
      owner?.channelRead(Array(buffer.readableBytesView))
    }

    func errorCaught0(error: any Error) { owner?.channelFailed(error) }
  }

  /// Reports events that reach the end of the handlers to the channel's owner.
  final class LinkChannelEvents: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private weak let owner: (any LinkChannelOwner)?

    init(_ owner: any LinkChannelOwner) { self.owner = owner }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) { owner?.channelEvent(event) }
  }
#endif
