#if TLS
  /// Why a web service has given no answer.
  package struct WebError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, by what can be done about it.
    package enum Code: Hashable, Sendable {
      /// The service is not reached.
      case unreachable
      /// The service does not answer in time.
      case timedOut
      /// The service has not proved that it is the one that the address names.
      case untrusted
      /// The service is at an address that is not admitted.
      case notAdmitted
      /// The service does not answer as HTTP says, or with too much.
      case answer
      /// The task was cancelled.
      case cancelled
    }

    package let code: Code
    /// One sentence, in English, without a trailing full stop; names the address.
    package let message: String

    package init(_ code: Code, _ message: String) {
      self.code = code
      self.message = message
    }

    package var description: String { message }

    /// The error of a wait that was cancelled.
    package static let cancelled = WebError(.cancelled, "The request was cancelled")
  }
#endif
