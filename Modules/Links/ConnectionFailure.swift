import NIOCore
import NIOHTTP1
import Platform

#if TLS
  import NIOSSL
#endif

/// What an error of the network library means for a connection: its code, and what to do.
///
/// The library's own texts name neither the address nor a remedy, and those of TLS contain paths of the
/// machine that built the program. So none of them is shown where a row matches.
struct ConnectionFailure: Sendable {
  let code: LinkError.Code
  /// What has happened, and what to do; it follows the address and a colon.
  let text: String
  private let matches: @Sendable (any Error) -> Bool

  private init(
    _ code: LinkError.Code, _ text: String, where matches: @escaping @Sendable (any Error) -> Bool
  ) {
    (self.code, self.text, self.matches) = (code, text, matches)
  }

  /// The first row that matches an error; `nil` for an error without a meaning of its own.
  static func of(_ error: any Error) -> ConnectionFailure? { all.first { $0.matches(error) } }

  /// The other end closed the connection instead of answering.
  ///
  /// The library fails with these errors what it was doing at that time.
  static let closedEarly = ConnectionFailure(
    .disconnected,
    "the other end closed the connection before it answered; it may have too many connections, or may not be a peer"
  ) { error in
    (error as? ChannelError) == .inappropriateOperationForState
      || (error as? HTTPParserError) == .invalidEOFState
  }

  private static let all: [ConnectionFailure] =
    [
      ConnectionFailure(.disconnected, "the connection is closed") { error in
        guard let error = error as? ChannelError else { return false }
        return [.ioOnClosedChannel, .alreadyClosed, .eof, .inputClosed, .outputClosed].contains(error)
      },
      closedEarly,
      ConnectionFailure(
        .refused,
        "the other end does not speak HTTP; a peer's TCP port is connected to as host:port, without ws:// or wss://"
      ) { $0 is HTTPParserError },
      ConnectionFailure(
        .refused,
        "the other end answers as no WebSocket server does; check the path, and what the proxy passes on"
      ) { $0 is NIOHTTPClientUpgradeError },
    ] + ofTLS

  #if TLS
    private static let ofTLS = [
      ConnectionFailure(.disconnected, "the other end closed the connection without ending TLS") {
        ($0 as? NIOSSLError) == .uncleanShutdown
      },
      ConnectionFailure(.disconnected, "the other end closed the connection before TLS was there") {
        isOfTLS($0) && "\($0)".contains("EOF during handshake")
      },
    ]

    /// Whether the error comes from TLS around the connection.
    static func isOfTLS(_ error: any Error) -> Bool {
      error is NIOSSLError || error is NIOSSLExtraError || error is BoringSSLError
    }
  #else
    private static let ofTLS: [ConnectionFailure] = []
  #endif

  /// What an error number of the operating system means for a connection.
  ///
  /// - Parameter number: The number.
  /// - Returns: The code; and what to do, where the system's own text does not suffice.
  static func of(system number: Int32) -> (code: LinkError.Code, advice: String?) {
    switch number {
    case ECONNREFUSED: (.refused, nil)
    case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL: (.unreachable, nil)
    case ETIMEDOUT: (.timedOut, nil)
    case ECONNRESET, EPIPE, ECONNABORTED, ENOTCONN: (.disconnected, nil)
    case EADDRINUSE: (.portInUse, nil)
    case EACCES, EPERM: (.permissionDenied, nil)
    case EAGAIN:
      (.timedOut, "the process at the other end accepts no connection now; it is stopped or overloaded")
    default: (.system, nil)
    }
  }
}
