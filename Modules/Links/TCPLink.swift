import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A link over one TCP connection, alone or inside a WebSocket.
public final class TCPLink: AwaitedLink {
  public let endpoint: LinkEndpoint

  private let channel: any Channel
  private let inbound: BytePipe
  private let outbound: BytePipe
  private let counters = NIOLockedValueBox(LinkStatistics())
  private let handler: NIOLoopBound<TCPLinkHandler>
  /// The origin of the other end, as limits count it.
  package let origin: ConnectionOrigin
  /// Its entry among the half-open connections until its peer is admitted; `nil` if it was dialed here.
  private let place: HalfOpenPlace?

  /// Adds the link's handler to a channel that is being made; must run on the channel's event loop.
  init(
    _ channel: any Channel, kind: String = "tcp", options: TCPOptions, address: String? = nil,
    origin: ConnectionOrigin? = nil, place: HalfOpenPlace? = nil
  ) throws {
    self.channel = channel
    self.place = place
    self.origin = origin ?? ConnectionOrigin(channel.remoteAddress)
    // A channel reads again when it is asked to; the handler allows that while there is room.
    inbound = BytePipe(bound: options.inboundBytes, onRoom: { channel.read() })
    outbound = BytePipe(bound: options.outboundBytes)
    endpoint = LinkEndpoint(kind: kind, address: address ?? channel.peerName)
    let handler = TCPLinkHandler(
      inbound: inbound, outbound: outbound, counters: counters, name: endpoint.address)
    self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
    try channel.pipeline.syncOperations.addHandler(handler)
  }

  deinit { channel.close(promise: nil) }

  public var statistics: LinkStatistics { counters.withLockedValue { $0 } }

  public func admitted() {
    place?.leave()
    if endpoint.kind == WebSocketScheme().name {
      channel.triggerUserOutboundEvent(WebSocketBytesHandler.Event.admitted, promise: nil)
    }
  }

  public func receive() async throws(LinkError) -> [UInt8]? {
    let bytes = try await inbound.read()
    counters.withLockedValue { $0.receivedBytes += UInt64(bytes?.count ?? 0) }
    return bytes
  }

  public func send(_ pieces: [[UInt8]]) async throws(LinkError) {
    let count = pieces.reduce(0) { $0 + $1.count }
    guard count > 0 else { return }
    let room = try outbound.append(pieces)
    counters.withLockedValue { $0.sentBytes += UInt64(count) }
    channel.flush()
    if !room { try await outbound.write([]) }
  }

  public func finish() async throws(LinkError) {
    outbound.finish()
    do {
      try await withTaskCancellationHandler {
        try await channel.close(mode: .output).get()
      } onCancel: {
        channel.close(promise: nil)
      }
    } catch {
      if Task.isCancelled { throw .cancelled }
      throw LinkError(tcp: error, "Cannot end the connection to \(endpoint.address)")
    }
  }

  public func close(_ reason: LinkError) {
    place?.comeBack()
    inbound.fail(reason)
    outbound.fail(reason)
    channel.close(promise: nil)
  }

  /// Waits until the socket is closed; `close` must have been called, or the peer must have gone.
  package func closed() async {
    // The future of a close cannot fail.
    _ = try? await channel.closeFuture.get()
  }
}

extension TCPLink {
  public var executor: any LinkExecutor { LoopExecutor(channel.eventLoop) }

  public var isLocal: Bool { channel.remoteAddress?.isLoopback ?? false }

  public func attach(_ user: any LinkUser) { onLoop { $0.attach(user) } }

  public func write(_ pieces: [[UInt8]]) {
    let count = pieces.reduce(0) { $0 + $1.count }
    // A pipe that has ended belongs to a link that broke, and the user is called separately about that.
    guard (try? outbound.append(pieces)) != nil else { return }
    counters.withLockedValue { $0.sentBytes += UInt64(count) }
    onLoop { $0.drain() }
  }

  public func resumeReading() { onLoop { $0.readIfRoom() } }

  private func onLoop(_ body: @escaping @Sendable (TCPLinkHandler) -> Void) {
    guard channel.eventLoop.inEventLoop else {
      return channel.eventLoop.execute { [handler] in body(handler.value) }
    }
    body(handler.value)
  }

  public func finishWriting() {
    place?.comeBack()
    // Bytes that are written from now on are dropped.
    outbound.finish()
    channel.close(mode: .output, promise: nil)
  }
}

/// Settings that client and server sockets share.
package enum TCP {
  /// The event loops of the whole process: links share threads, they do not own any.
  static var group: MultiThreadedEventLoopGroup { .singletonMultiThreadedEventLoopGroup }

  /// The number of connections that the system keeps until they are accepted.
  ///
  /// Beyond that, a peer's system tries again a second later.
  static let backlog: Int32 = 1_024

  /// Makes the bootstrap of outgoing connections.
  static func clientBootstrap(_ options: TCPOptions) -> ClientBootstrap {
    ClientBootstrap(group: group)
      .connectTimeout(TimeAmount(options.connectTimeout))
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelOption(.socketOption(.so_keepalive), value: 1)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .channelOption(.recvAllocator, value: receiveAllocator)
      .channelOption(.maxMessagesPerRead, value: 1)
      .channelOption(.writeBufferWaterMark, value: waterMark)
  }

  /// Whether the event loops are known to run, or to be able to start.
  private static let isReady = NIOLockedValueBox(false)
  /// The descriptors of one event loop: the selector, its wake-up and its timer.
  private static let descriptorsPerLoop = 3
  /// Descriptors that other threads may open for a moment meanwhile.
  private static let spareDescriptors = 4

  /// Checks that the event loops can start: the network library ends the process when they cannot.
  ///
  /// - Parameter what: The purpose of the event loops, for the error.
  /// - Throws: `system` when there are not enough file descriptors left.
  package static func checkDescriptors(_ what: String) throws(LinkError) {
    let failure = isReady.withLockedValue { isReady -> Int32? in
      guard !isReady else { return nil }
      let needed = NIOSingletons.groupLoopCountSuggestion * descriptorsPerLoop + spareDescriptors
      let failure = Descriptors.shortage(of: needed)
      if failure == nil {
        _ = group
        isReady = true
      }
      return failure
    }
    if let failure { throw LinkError(tcp: IOError(errnoCode: failure, reason: "dup"), what) }
  }

  /// Receive buffers grow with what the socket holds, so that a fast peer needs few reads.
  ///
  /// They are small at first. Each link keeps its own, and most links of a server with many peers carry
  /// little. After each buffer the link says whether it has room for another.
  static var receiveAllocator: AdaptiveRecvByteBufferAllocator {
    AdaptiveRecvByteBufferAllocator(minimum: 2 << 10, initial: 2 << 10, maximum: 128 << 10)
  }

  /// The bounds of the socket's own queue.
  ///
  /// It is large enough for a fast line, and small enough that backpressure of a slow peer works.
  static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 128 << 10, high: 512 << 10)
}
