#if Server
  /// Why a delivery was not acknowledged.
  struct WebhookFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// One sentence without a full stop, which the keys of the application may read.
    let description: String
    /// The same for the log, which may name files of the server.
    let logged: String
    /// How long the receiver asks to wait.
    var retryAfter: Duration?
    /// Whether the receiver refuses further deliveries.
    var isGone = false
    /// Whether the receiver reports that the delivery is too large for it.
    var isTooLarge = false

    init(
      _ description: String, logged: String? = nil, retryAfter: Duration? = nil, isGone: Bool = false,
      isTooLarge: Bool = false
    ) {
      self.description = description
      self.logged = logged ?? description
      self.retryAfter = retryAfter
      self.isGone = isGone
      self.isTooLarge = isTooLarge
    }
  }
#endif
