import NIOCore
import NIOPosix

/// Connects to one TCP address.
public struct TCPConnector: LinkConnector {
  /// The host's name or address.
  public let host: String
  /// The port, 1 to 65535.
  public let port: Int

  private let options: TCPOptions
  /// The addresses of the host, when no name has to be looked up.
  private let known: KnownAddresses?

  /// Takes an address; does not connect yet.
  public init(host: String, port: Int, options: TCPOptions = TCPOptions()) {
    self.host = host
    self.port = port
    self.options = options
    known = nil
  }

  /// Takes the addresses of a candidate; the first one that answers is used.
  ///
  /// - Returns: `nil` when the candidate has none.
  init?(_ candidate: PeerCandidate, options: TCPOptions) {
    guard let first = candidate.endpoints.first else { return nil }
    host = first.host
    port = first.port
    self.options = options
    known = KnownAddresses(candidate)
  }

  /// The address, in readable form.
  public var address: String { hostPort(host, port) }

  private var bootstrap: ClientBootstrap {
    let bootstrap = TCP.clientBootstrap(options)
    return known.map { bootstrap.resolver($0) } ?? bootstrap
  }

  /// Makes one attempt to connect.
  ///
  /// - Throws: `refused`, `unreachable`, `timedOut` or `system`, naming the address; `cancelled` when the
  ///   task is cancelled.
  public func connect() async throws(LinkError) -> TCPLink {
    let what = "Cannot connect to \(address)"
    guard (1...65_535).contains(port) else {
      throw LinkError(.unreachable, "\(what): a port is a number from 1 to 65535")
    }
    try TCP.checkDescriptors(what)
    let attempt = ConnectionAttempt()
    do {
      return try await withTaskCancellationHandler {
        try await bootstrap.connect(host: host, port: port) { [options, address] channel in
          channel.eventLoop.makeCompletedFuture {
            try attempt.begin(on: channel)
            return try TCPLink(channel, options: options, address: address)
          }
        }
      } onCancel: {
        attempt.cancel()
      }
    } catch {
      throw Task.isCancelled ? .cancelled : LinkError(tcp: error, what)
    }
  }
}

/// Returns known addresses, so that both address families are tried side by side (RFC 8305).
private struct KnownAddresses: Resolver, Sendable {
  private let ipv4: [SocketAddress]
  private let ipv6: [SocketAddress]

  init(_ candidate: PeerCandidate) {
    let addresses = candidate.endpoints.compactMap { SocketAddress(numericHost: $0.host, port: $0.port) }
    ipv4 = addresses.filter { $0.protocol == .inet }
    ipv6 = addresses.filter { $0.protocol == .inet6 }
  }

  func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
    TCP.group.next().makeSucceededFuture(ipv4)
  }

  func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
    TCP.group.next().makeSucceededFuture(ipv6)
  }

  func cancelQueries() {}
}
