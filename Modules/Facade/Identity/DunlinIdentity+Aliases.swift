#if TLS
  public import Foundation
  import Links

  /// Aliases with the names of the product on which this one is modelled.
  extension DunlinIdentity {
    /// The same as `online(appID:url:authority:authenticator:)` with a delegate.
    ///
    /// - Parameters:
    ///   - appID: The application's id.
    ///   - authenticationDelegate: Asked to log in when a login is needed.
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

    /// Logs in with one token that all devices share, with the provider `playground`.
    ///
    /// Everyone who has the application has the token: the login service decides what it permits. For trials
    /// only.
    ///
    /// - Parameters:
    ///   - appID: The application's id.
    ///   - token: The token, which is sent at each login.
    ///   - customAuthURL: The login service; the vendor runs none.
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
    ///   - sharedKey: 32 random bytes in Base64, as `dunlin key` makes them. A private key of P-256 in DER
    ///     and Base64 is also accepted; its 32 bytes are then used.
    /// - Returns: The identity.
    /// - Throws: `argument` when the text is neither.
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
