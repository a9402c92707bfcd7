#if TLS
  public import Foundation

  /// Whether a user is logged in, who it is, and until when.
  public struct DunlinAuthenticationStatus: Hashable, Sendable {
    /// Whether the device has a valid certificate.
    public let isAuthenticated: Bool
    /// The user that the certificate names.
    public let userID: String?
    /// When the certificate expires; without a network sync continues until then.
    public let validUntil: Date?
  }
#endif
