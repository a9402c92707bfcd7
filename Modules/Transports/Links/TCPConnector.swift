import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Connects to one TCP address, again and again if asked to.
public struct TCPConnector: Sendable {
  /// The host's name or address.
  public let host: String
  /// The port, 1 to 65535.
  public let port: Int

  private let options: TCPOptions

  /// Names an address; nothing happens yet.
  public init(host: String, port: Int, options: TCPOptions = TCPOptions()) {
    self.host = host
    self.port = port
    self.options = options
  }

  /// The address, for people.
  public var address: String { hostPort(host, port) }

  /// Makes one attempt to connect.
  ///
  /// - Throws: `refused`, `unreachable`, `timedOut`, `system`, naming the address; `cancelled` when the task is.
  public func connect() async throws(LinkError) -> TCPLink {
    let what = "Cannot connect to \(address)"
    guard (1...65_535).contains(port) else {
      throw LinkError(.unreachable, "\(what): a port is a number from 1 to 65535")
    }
    try TCP.checkDescriptors(what)
    let attempt = Attempt()
    let bootstrap = ClientBootstrap(group: TCP.group)
      .connectTimeout(TimeAmount(options.connectTimeout))
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelOption(.socketOption(.so_keepalive), value: 1)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .channelOption(.recvAllocator, value: TCP.receiveAllocator)
      .channelOption(.writeBufferWaterMark, value: TCP.waterMark)
      .channelInitializer { [options, address] channel in
        channel.eventLoop.makeCompletedFuture {
          try attempt.begin(TCPLink(channel, options: options, address: address), on: channel)
        }
      }
    do {
      let channel = try await withTaskCancellationHandler {
        try await bootstrap.connect(host: host, port: port).get()
      } onCancel: {
        attempt.cancel()
      }
      return try attempt.link(of: channel)
    } catch {
      throw Task.isCancelled ? .cancelled : LinkError(tcp: error, what)
    }
  }

  /// Connects, hands the link to `body`, and connects again when it returns; for ever, until the task is cancelled.
  ///
  /// After a failure it waits as `backoff` says. The wait begins again at the shortest once `body` says that the
  /// connection was of use: a peer that accepts and hangs up at once is a failure too.
  ///
  /// - Parameters:
  ///   - backoff: The delays between attempts.
  ///   - clock: The time that the delays go by.
  ///   - failed: Hears of each failed attempt and of the delay that follows.
  ///   - body: Uses the link and closes it; returns whether the connection was of use.
  public func keepConnected(
    backoff: Backoff = Backoff(), clock: TransportClock = .continuous,
    failed: @Sendable (LinkError, Duration) -> Void = { _, _ in }, body: (TCPLink) async -> Bool
  ) async {
    var backoff = backoff
    while !Task.isCancelled {
      var failure: LinkError?
      do {
        if await body(try await connect()) { backoff.reset() }
      } catch {
        failure = error
      }
      if Task.isCancelled { return }
      let delay = backoff.next()
      if let failure { failed(failure, delay) }
      guard (try? await clock.sleep(for: delay)) != nil else { return }
    }
  }
}

/// The channels of one attempt to connect, so that it can be broken off; a name may have several addresses.
private final class Attempt: Sendable {
  private struct State {
    var links: [(channel: any Channel, link: TCPLink)] = []
    var cancelled = false
  }

  private let state = NIOLockedValueBox(State())

  func begin(_ link: TCPLink, on channel: any Channel) throws(LinkError) {
    let cancelled = state.withLockedValue { state in
      state.links.append((channel, link))
      return state.cancelled
    }
    if cancelled { throw .cancelled }
  }

  func cancel() {
    let links = state.withLockedValue { state in
      state.cancelled = true
      return state.links
    }
    for (channel, _) in links { channel.close(promise: nil) }
  }

  func link(of channel: any Channel) throws(LinkError) -> TCPLink {
    guard let link = state.withLockedValue({ $0.links.first { $0.channel === channel }?.link }) else {
      throw LinkError(.disconnected, "The connection was closed while it was made")
    }
    return link
  }
}
