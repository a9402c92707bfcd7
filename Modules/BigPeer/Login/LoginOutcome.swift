#if Server
  /// The outcome of a login request, for figures.
  package enum LoginOutcome: String, Hashable, Sendable, CaseIterable {
    /// A certificate was issued.
    case granted
    /// The address sent too many requests.
    case flood
    /// It is not a valid login request to this application.
    case malformed
    /// The device has not proved that it has its key.
    case proof
    /// The device's key is revoked.
    case revoked
    /// The webhook refuses the token.
    case token
    /// The webhook gives permissions that peers cannot enforce.
    case permissions
    /// The user logged in too often.
    case user
    /// The webhook, the store or the intermediate authority has failed.
    case fault
  }
#endif
