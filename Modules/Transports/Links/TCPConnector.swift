import NIOCore
import NIOPosix

/// Connects to one TCP address.
public struct TCPConnector: LinkConnector {
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
    let attempt = ConnectionAttempt()
    do {
      return try await withTaskCancellationHandler {
        try await TCP.clientBootstrap(options).connect(host: host, port: port) { [options, address] channel in
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
