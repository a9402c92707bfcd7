#if Server
  import Logging

  /// Why a login was refused.
  struct LoginRefusal: Error {
    /// How long a device waits after a fault of this server or of the webhook.
    private static let pause = Duration.seconds(5)

    let outcome: LoginOutcome
    let status: Int
    /// For the device.
    let message: String
    /// For the log and the audit log.
    let why: String
    var level = Logger.Level.info
    var retryAfter: Duration?
    var user: String?

    /// A refusal because of a mistake in the request.
    static func wrong(_ outcome: LoginOutcome, _ status: Int, _ message: String) -> LoginRefusal {
      LoginRefusal(outcome: outcome, status: status, message: message, why: message)
    }

    /// A refusal because of a fault here, whose details the device does not get.
    static func fault(_ why: String, retryAfter: Duration? = nil, user: String? = nil) -> LoginRefusal {
      LoginRefusal(
        outcome: .fault, status: 503, message: "the login service cannot answer now", why: why,
        level: .warning, retryAfter: retryAfter ?? pause, user: user)
    }

    var answer: LoginAnswer { .refusal(status, message, retryAfter: retryAfter) }
  }
#endif
