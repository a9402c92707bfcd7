#if TLS
  public import Foundation
  import Transports

  /// The names that applications of the product know which this one is modelled on.
  extension DunlinIdentity {
    /// The same as `online(appID:url:authority:authenticator:)` with a delegate.
    ///
    /// - Parameters:
    ///   - appID: The application's id.
    ///   - authenticationDelegate: Is asked for a login when one is needed.
    ///   - customAuthURL: The login service.
    ///   - authority: The certificate of the application's authority (PEM).
    /// - Returns: The identity.
    public static func onlineWithAuthentication(
      appID: String, authenticationDelegate: any DunlinAuthenticationDelegate, customAuthURL: URL,
      authority: String? = nil
    ) -> DunlinIdentity {
      online(
        appID: appID, url: customAuthURL.absoluteString, authority: authority,
        authenticator: authenticationDelegate)
    }

    /// Logs in with one token that all devices share, by the provider `playground`.
    ///
    /// Whoever has the application has the token: the login service decides how much that is worth. For trials only.
    /// - Parameters:
    ///   - appID: The application's id.
    ///   - token: The token, which is sent at each login.
    ///   - customAuthURL: The login service; there is no vendor's.
    ///   - authority: The certificate of the application's authority (PEM).
    /// - Returns: The identity.
    public static func onlinePlayground(
      appID: String, token: String, customAuthURL: URL, authority: String? = nil
    ) -> DunlinIdentity {
      online(appID: appID, url: customAuthURL.absoluteString, authority: authority) { authenticator in
        try await authenticator.login(token: token, provider: "playground")
      }
    }

    /// The application's shared key, from a text.
    ///
    /// - Parameters:
    ///   - appID: The application's id.
    ///   - sharedKey: 32 random bytes in Base64, as `dunlin key` makes them; or a private key of P-256 in DER and Base64, of which the 32 bytes
    ///     are taken.
    /// - Returns: The identity.
    /// - Throws: `argument` when it is neither.
    public static func sharedKey(appID: String, sharedKey: String) throws -> DunlinIdentity {
      if let data = Data(base64Encoded: sharedKey.trimmingCharacters(in: .whitespacesAndNewlines)),
        data.count != 32, let key = DeviceKey(der: Array(data))
      {
        return .sharedKey(appID: appID, key: DunlinSharedKey(bytes: key.bytes))
      }
      return .sharedKey(appID: appID, key: try DunlinSharedKey(sharedKey))
    }
  }
#endif

extension DunlinIdentity {
  /// The same as ``unsafeDevelopment(appID:)``: it proves nothing, and nothing is encrypted.
  public static func offlinePlayground(appID: String) -> DunlinIdentity { .unsafeDevelopment(appID: appID) }
}
