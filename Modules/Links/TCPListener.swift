import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Accepts links on one TCP port.
///
/// At most `ConnectionLimits.halfOpen` links wait for their peer's hello, and `halfOpenByAddress` from one
/// address. A connection beyond these limits is closed as soon as it arrives. So a flood costs a socket for a
/// moment and never memory. `Link.admitted` says that a link no longer waits.
public final class TCPListener: Sendable {
  /// The protocol that carries the bytes of links.
  public enum Carrier: Hashable, Sendable {
    /// Plain TCP.
    case tcp
    /// A WebSocket, which can pass through web proxies.
    case webSocket

    /// The kind of links that listeners with this carrier accept.
    package var scheme: any LinkScheme {
      switch self {
      case .tcp: TCPScheme()
      case .webSocket: WebSocketScheme()
      }
    }
  }

  /// The requested host.
  public let host: String
  /// The port in use; a free one that was found if 0 was requested.
  public let port: Int
  /// The accepted links, until the listener is closed; for one consumer.
  public let links: AsyncStream<TCPLink>

  private let channel: any Channel
  private let arrivals: AsyncStream<TCPLink>.Continuation

  /// Starts to listen.
  ///
  /// - Parameters:
  ///   - host: The name or address to listen on: 127.0.0.1 is this machine only, 0.0.0.0 is all of its
  ///     networks.
  ///   - port: The port, 0 for any free one.
  ///   - carrier: The protocol that carries the links.
  ///   - options: The bounds of its links.
  ///   - limits: How many links may wait for their peer's hello.
  /// - Returns: The listener with its port.
  /// - Throws: `portInUse`, `permissionDenied`, `unreachable` or `system`, naming host and port.
  public static func bind(
    host: String = "127.0.0.1", port: Int = 0, over carrier: Carrier = .tcp,
    options: TCPOptions = TCPOptions(),
    limits: ConnectionLimits = ConnectionLimits()
  ) async throws(LinkError) -> TCPListener {
    let (links, arrivals) = AsyncStream.makeStream(of: TCPLink.self)
    do {
      let channel = try await begin(
        host, port, carrier, options, HalfOpenConnections(limits), awaitsAdmission: false, arrivals
      ).get()
      return TCPListener(channel, host: host, port: port, links: links, arrivals: arrivals)
    } catch {
      throw LinkError(tcp: error, "Cannot listen on \(hostPort(host, port))")
    }
  }

  /// Starts to listen; blocks the calling thread until then.
  ///
  /// Until `Link.admitted` is called on a link over a WebSocket, its peer may send 128 frames and 128 KiB.
  ///
  /// - Parameters:
  ///   - host: The name or address to listen on.
  ///   - port: The port, 0 for any free one.
  ///   - carrier: The protocol that carries the links.
  ///   - options: The bounds of its links.
  ///   - halfOpen: Counts the links that wait for their peer's hello.
  /// - Returns: The listener with its port.
  /// - Throws: As `bind`.
  package static func bindBlocking(
    host: String = "127.0.0.1", port: Int = 0, over carrier: Carrier = .tcp, options: TCPOptions,
    halfOpen: HalfOpenConnections
  ) throws(LinkError) -> TCPListener {
    let (links, arrivals) = AsyncStream.makeStream(of: TCPLink.self)
    do {
      let channel = try begin(
        host, port, carrier, options, halfOpen, awaitsAdmission: true, arrivals
      ).wait()
      return TCPListener(channel, host: host, port: port, links: links, arrivals: arrivals)
    } catch {
      throw LinkError(tcp: error, "Cannot listen on \(hostPort(host, port))")
    }
  }

  private static func begin(
    _ host: String, _ port: Int, _ carrier: Carrier, _ options: TCPOptions, _ halfOpen: HalfOpenConnections,
    awaitsAdmission: Bool, _ arrivals: AsyncStream<TCPLink>.Continuation
  ) throws(LinkError) -> EventLoopFuture<any Channel> {
    guard (0...65_535).contains(port) else {
      throw LinkError(
        .unreachable, "Cannot listen on \(hostPort(host, port)): a port is a number from 0 to 65535")
    }
    try TCP.checkDescriptors("Cannot listen on \(hostPort(host, port))")
    return ServerBootstrap(group: TCP.group)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let what = "Cannot accept connections on \(hostPort(host, port))"
          try channel.pipeline.syncOperations.addHandler(
            AcceptPause { options.acceptFailed(LinkError(tcp: $0, what)) })
        }
      }
      .serverChannelOption(.backlog, value: TCP.backlog)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.socketOption(.so_keepalive), value: 1)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelOption(.recvAllocator, value: TCP.receiveAllocator)
      .childChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelOption(.writeBufferWaterMark, value: TCP.waterMark)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          // The number of half-open connections bounds the stream of arrivals.
          let isProxy = carrier == .webSocket && ForwardedAddress.isProxy(channel, options)
          let origin = isProxy ? nil : ConnectionOrigin(channel.remoteAddress)
          guard let place = halfOpen.enter(from: origin) else {
            throw LinkError(.closed, "Too many connections")
          }
          channel.closeFuture.whenComplete { _ in place.end() }
          switch carrier {
          case .tcp: arrivals.yield(try TCPLink(channel, options: options, place: place))
          case .webSocket:
            try WebSocketUpgrade.begin(
              on: channel, options, place, awaitsAdmission: awaitsAdmission, arrivals)
          }
        }
      }
      .bind(host: host, port: port)
  }

  private init(
    _ channel: any Channel, host: String, port: Int, links: AsyncStream<TCPLink>,
    arrivals: AsyncStream<TCPLink>.Continuation
  ) {
    self.channel = channel
    self.host = host
    self.port = channel.localAddress?.port ?? port
    self.links = links
    self.arrivals = arrivals
    channel.closeFuture.whenComplete { _ in arrivals.finish() }
  }

  deinit {
    arrivals.finish()
    channel.close(promise: nil)
  }

  /// The listener's address, in readable form.
  public var address: String { hostPort(host, port) }

  /// Stops listening and waits until the port is free; links that were accepted before stay open.
  public func close() async {
    arrivals.finish()
    channel.close(promise: nil)
    // The future of a close cannot fail.
    _ = try? await channel.closeFuture.get()
  }

  /// Stops listening; blocks the calling thread until the port is free.
  public func closeBlocking() {
    arrivals.finish()
    channel.close(promise: nil)
    _ = try? channel.closeFuture.wait()
  }
}
