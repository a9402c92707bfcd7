#if TLS
  /// Why a login has given no certificate.
  package struct LoginError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, by what can be done about it.
    package enum Code: Hashable, Sendable {
      /// An address, a name or a token that no login can be made with.
      case argument
      /// The service refuses the token: another one is needed.
      case refused
      /// The service is not reached.
      case unreachable
      /// The service does not answer in time.
      case timedOut
      /// The service says that it cannot answer now.
      case unavailable
      /// The service has not proved that it is the one that the address names.
      case untrusted
      /// The service answers with something else than its protocol says.
      case answer
      /// The certificate that it gives is not right.
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

    package var description: String { message }

    /// Why the service was not asked, or has not answered.
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

    /// Whether the same attempt may well succeed later.
    package var isPassing: Bool {
      switch code {
      case .unreachable, .timedOut, .unavailable: true
      case .argument, .refused, .untrusted, .answer, .certificate, .cancelled: false
      }
    }
  }
#endif
