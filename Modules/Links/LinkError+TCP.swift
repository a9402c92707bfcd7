import CRDTCore
import NIOCore
import NIOPosix
import Platform

#if TLS
  import NIOSSL
#endif

extension LinkError {
  /// Translates an error of the network library; `what` says what failed, with the address.
  package init(tcp error: any Error, _ what: String) {
    switch error {
    case let error as LinkError: self = error
    case let error as NIOConnectionError: self = Self.attempts(error, what)
    case let error as IOError: self = Self.system(error.errnoCode, what)
    case let error as ChannelError: self = Self.channel(error, what)
    case is CancellationError: self = .cancelled
    case let error where error.isOfTLS: self = LinkError(.untrusted, "\(what): \(error)")
    default: self = LinkError(.system, "\(what): \(error)")
    }
  }

  /// The name may have several addresses; the first refusal by a host says most.
  private static func attempts(_ error: NIOConnectionError, _ what: String) -> LinkError {
    guard let first = error.connectionErrors.first else {
      return LinkError(.unreachable, "\(what): the host \"\(error.host)\" is not known")
    }
    return LinkError(tcp: first.error, what)
  }

  private static func channel(_ error: ChannelError, _ what: String) -> LinkError {
    switch error {
    case .connectTimeout(let limit):
      LinkError(.timedOut, "\(what): no answer within \(Duration.nanoseconds(limit.nanoseconds).text)")
    case .ioOnClosedChannel, .alreadyClosed, .eof, .inputClosed, .outputClosed:
      LinkError(.disconnected, "\(what): the connection is closed")
    default: LinkError(.system, "\(what): \(error)")
    }
  }

  private static func system(_ number: Int32, _ what: String) -> LinkError {
    let text = String(cString: strerror(number))
    let code: Code =
      switch number {
      case ECONNREFUSED: .refused
      case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL: .unreachable
      case ETIMEDOUT: .timedOut
      case ECONNRESET, EPIPE, ECONNABORTED, ENOTCONN: .disconnected
      case EADDRINUSE: .portInUse
      case EACCES, EPERM: .permissionDenied
      default: .system
      }
    return LinkError(code, "\(what): \(text)", underlying: number)
  }
}

extension Error {
  /// Whether the error comes from TLS around the connection.
  fileprivate var isOfTLS: Bool {
    #if TLS
      self is NIOSSLError || self is NIOSSLExtraError || self is BoringSSLError
    #else
      false
    #endif
  }
}
