import CRDTCore
import NIOCore
import NIOPosix
import Platform

extension LinkError {
  /// Translates an error of the network library; `what` says what failed, with the address.
  package init(tcp error: any Error, _ what: String) {
    switch error {
    case let error as LinkError: self = error
    case let error as NIOConnectionError: self = Self.attempts(error, what)
    case let error as IOError: self = Self.system(error.errnoCode, what)
    case ChannelError.connectTimeout(let limit):
      let limit = Duration.nanoseconds(limit.nanoseconds)
      self = LinkError(.timedOut, "\(what): no answer within \(limit.text)")
    case is CancellationError: self = .cancelled
    default:
      if let failure = ConnectionFailure.of(error) {
        self = LinkError(failure.code, "\(what): \(failure.text)")
      } else {
        self = Self.other(error, what)
      }
    }
  }

  /// The name may have several addresses; the first refusal by a host says most.
  private static func attempts(_ error: NIOConnectionError, _ what: String) -> LinkError {
    guard let first = error.connectionErrors.first else {
      return LinkError(.unreachable, "\(what): the host \"\(error.host)\" is not known")
    }
    return LinkError(tcp: first.error, what)
  }

  private static func other(_ error: any Error, _ what: String) -> LinkError {
    #if TLS
      if ConnectionFailure.isOfTLS(error) {
        return LinkError(.untrusted, "\(what): TLS failed (\(TLSFailure.name(in: "\(error)")))")
      }
    #endif
    return LinkError(.system, "\(what): \(error)")
  }

  private static func system(_ number: Int32, _ what: String) -> LinkError {
    let (code, advice) = ConnectionFailure.of(system: number)
    return LinkError(
      code, "\(what): \(advice ?? String(cString: strerror(number)))", underlying: number)
  }
}
