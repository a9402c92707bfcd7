#if Server
  /// How a request of a login has ended, for figures.
  package enum LoginOutcome: String, Hashable, Sendable, CaseIterable {
    /// A certificate was issued.
    case granted
    /// The address asks too often.
    case flood
    /// It is no request of a login to this application.
    case malformed
    /// The device has not proved its key.
    case proof
    /// The device's key is revoked.
    case revoked
    /// The webhook refuses the token.
    case token
    /// The webhook restricts what the user may do.
    case permissions
    /// The user logs in too often.
    case user
    /// The webhook, the store or the intermediate authority has failed.
    case fault
  }
#endif
