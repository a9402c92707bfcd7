#if Server
  package import CRDTCore

  /// The response of a login endpoint.
  package struct LoginAnswer: Hashable, Sendable {
    /// An HTTP status.
    package let status: Int
    /// A JSON object.
    package let fields: [TextKey: Value]
    /// How long the device is asked to wait.
    package let retryAfter: Duration?

    package init(_ status: Int, _ fields: [TextKey: Value], retryAfter: Duration? = nil) {
      self.status = status
      self.fields = fields
      self.retryAfter = retryAfter
    }

    /// A refusal, with a message for people.
    package static func refusal(_ status: Int, _ message: String, retryAfter: Duration? = nil) -> LoginAnswer
    {
      LoginAnswer(status, ["message": .string(message)], retryAfter: retryAfter)
    }

    /// The seconds of ``retryAfter``, rounded up.
    package var retrySeconds: Int64? {
      retryAfter.map { max(1, $0.components.seconds + ($0.components.attoseconds > 0 ? 1 : 0)) }
    }
  }
#endif
