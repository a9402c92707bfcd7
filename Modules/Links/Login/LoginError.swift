#if TLS
  import CRDTCore

  /// Why a login did not result in a certificate.
  package struct LoginError: CodedError, Hashable, CustomStringConvertible {
    /// The kind of failure, by what can be done about it.
    package enum Code: String, Sendable {
      /// An address, a name or a token is invalid for a login.
      case argument
      /// The service refuses the token: another one is needed.
      case refused
      /// The service cannot be reached.
      case unreachable
      /// The service does not answer in time.
      case timedOut
      /// The service says that it cannot answer now.
      case unavailable
      /// The service has not proved that it is the one that the address names.
      case untrusted
      /// The service's answer violates the protocol.
      case answer
      /// The certificate in the answer is invalid.
      case certificate
      /// The task was cancelled.
      case cancelled
    }

    package let code: Code
    /// One sentence, in English, without a trailing full stop; names the address, and never a token.
    package let message: String
    /// How long the service asks to wait before the next attempt.
    package let retryAfter: Duration?

    package init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
      self.code = code
      self.message = message
      self.retryAfter = retryAfter
    }

    package var context: [String: String] {
      retryAfter.map { ["retryAfter": "\($0.components.seconds)"] } ?? [:]
    }

    package var description: String { message }

    /// Translates the failure of a request to the service.
    init(_ error: WebError) {
      self =
        switch error.code {
        case .unreachable, .notAdmitted: LoginError(.unreachable, error.message)
        case .timedOut: LoginError(.timedOut, error.message)
        case .untrusted: LoginError(.untrusted, error.message)
        case .answer: LoginError(.answer, error.message)
        case .cancelled: LoginError(.cancelled, "The login was cancelled")
        }
    }

    /// Whether the same attempt may succeed later.
    package var isPassing: Bool {
      switch code {
      case .unreachable, .timedOut, .unavailable: true
      case .argument, .refused, .untrusted, .answer, .certificate, .cancelled: false
      }
    }
  }
#endif
