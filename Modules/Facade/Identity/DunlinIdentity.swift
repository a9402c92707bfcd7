/// Which application a peer belongs to, and how it proves that.
///
/// All but the development identity need the package's trait `TLS`, which is on unless it is switched off.
public struct DunlinIdentity: Hashable, Sendable {
  enum Proof: Hashable, Sendable {
    case none
    #if TLS
      case sharedKey(DunlinSharedKey)
      case certificate(authority: String, certificate: String)
      case online(OnlineLogin)
    #endif

    /// What users call it.
    var name: String {
      switch self {
      case .none: "development"
      #if TLS
        case .sharedKey: "shared key"
        case .certificate: "certificate"
        case .online: "login"
      #endif
      }
    }
  }

  let appID: String
  let proof: Proof

  /// No proof of anything and no encryption: whoever knows the application's id can read and write everything.
  ///
  /// For development only. Opening a database with it logs a warning. It meets none of the other identities.
  public static func unsafeDevelopment(appID: String) -> DunlinIdentity {
    DunlinIdentity(appID: appID, proof: .none)
  }

  #if TLS
    /// Proves that a peer knows the application's shared key, and encrypts all that peers say.
    ///
    /// It proves membership and nothing else: there are no users and no rules, every member can do everything, and a key that
    /// was stolen must be replaced at all peers.
    ///
    /// - Parameters:
    ///   - appID: The application's id, 1 to 128 bytes.
    ///   - key: The same for all peers of the application; `dunlin key` makes one.
    /// - Returns: The identity.
    public static func sharedKey(appID: String, key: DunlinSharedKey) -> DunlinIdentity {
      DunlinIdentity(appID: appID, proof: .sharedKey(key))
    }

    /// Proves who a peer is by a certificate of the application's own authority, and encrypts all that peers say.
    ///
    /// The certificate is issued for this device's key, see ``DunlinDevice/publicKey(path:keyStore:)``, with `dunlin cert issue`
    /// or ``DunlinAuthority``.
    ///
    /// - Parameters:
    ///   - appID: The application's id.
    ///   - authority: The authority's certificate, in its text form (PEM).
    ///   - certificate: This device's certificate, in its text form, and after it those between it and the authority's.
    /// - Returns: The identity; what is wrong with the texts is told when the database is opened.
    public static func certificate(appID: String, authority: String, certificate: String) -> DunlinIdentity {
      DunlinIdentity(appID: appID, proof: .certificate(authority: authority, certificate: certificate))
    }

    /// Proves who a peer is by a certificate that a login service gives for a token of the application's, and encrypts all that
    /// peers say.
    ///
    /// The certificate is kept: sync goes on without the service until it ends. It meets peers with certificates of the same authority,
    /// however they came by them.
    ///
    /// - Parameters:
    ///   - appID: The application's id, 1 to 128 bytes.
    ///   - url: The login service: `https://host/path`. `Documentation/Security.md` has its protocol.
    ///   - authority: The certificate of the application's authority (PEM), which the device's must be issued by. `nil` takes the one that the
    ///     service names at the first login, and then no other: that the service is the right one then rests on HTTPS alone.
    ///   - authenticator: Is asked for a login when one is needed; the database keeps it.
    /// - Returns: The identity; what is wrong with the address or the authority is told when the database is opened.
    public static func online(
      appID: String, url: String, authority: String? = nil,
      authenticator: any DunlinAuthenticationDelegate
    ) -> DunlinIdentity {
      let login = OnlineLogin(url: url, authority: authority, delegate: authenticator)
      return DunlinIdentity(appID: appID, proof: .online(login))
    }

    /// As the form with a delegate, with a closure that logs in whenever that is needed.
    ///
    /// ```swift
    /// let identity = DunlinIdentity.online(appID: "garage", url: "https://login.example.com/garage") { authenticator in
    ///   try await authenticator.login(token: try await session.token(), provider: "garage")
    /// }
    /// ```
    /// - Parameters:
    ///   - appID: As for the form with a delegate.
    ///   - url: As for the form with a delegate.
    ///   - authority: As for the form with a delegate.
    ///   - authenticator: Logs in; what it throws is reported.
    /// - Returns: The identity.
    public static func online(
      appID: String, url: String, authority: String? = nil,
      authenticator: @escaping @Sendable (DunlinAuthenticator) async throws -> Void
    ) -> DunlinIdentity {
      online(appID: appID, url: url, authority: authority, authenticator: ClosureDelegate(authenticator))
    }
  #endif
}
