/// The application that a peer belongs to, and how the peer proves that.
///
/// All identities except the development identity need the package's trait `TLS`, which is on by default.
public struct DunlinIdentity: Hashable, Sendable {
  enum Proof: Hashable, Sendable {
    case none
    #if TLS
      case sharedKey(DunlinSharedKey)
      case certificate(authority: String, certificate: String)
      case online(OnlineLogin)
    #endif

    /// The user's word for this kind of proof.
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

  /// No proof of anything and no encryption: anyone who knows the application's id can read and write all.
  ///
  /// For development only. Opening a database with it logs a warning. Such a peer cannot sync with peers that
  /// have another kind of identity.
  public static func unsafeDevelopment(appID: String) -> DunlinIdentity {
    DunlinIdentity(appID: appID, proof: .none)
  }

  #if TLS
    /// Proves that a peer has the application's shared key, and encrypts all communication of peers.
    ///
    /// It proves membership and nothing else. There are no users and no rules, and every member can do
    /// everything. A stolen key must be replaced at all peers.
    ///
    /// - Parameters:
    ///   - appID: The application's id, 1 to 128 bytes.
    ///   - key: The same for all peers of the application; `dunlin key` makes one.
    /// - Returns: The identity.
    public static func sharedKey(appID: String, key: DunlinSharedKey) -> DunlinIdentity {
      DunlinIdentity(appID: appID, proof: .sharedKey(key))
    }

    /// Proves a peer's identity by a certificate of the application's own authority.
    ///
    /// All communication of peers is encrypted.
    ///
    /// The certificate is issued for this device's key with `dunlin cert issue` or ``DunlinAuthority``. See
    /// ``DunlinDevice/publicKey(path:keyStore:)``. That of a big peer is issued with `--kind big`.
    ///
    /// - Parameters:
    ///   - appID: The application's id.
    ///   - authority: The authority's certificate, in its text form (PEM).
    ///   - certificate: This device's certificate, in its text form, followed by those between it and the
    ///     authority's.
    /// - Returns: The identity; errors in the texts are reported when the database is opened.
    public static func certificate(appID: String, authority: String, certificate: String) -> DunlinIdentity {
      DunlinIdentity(appID: appID, proof: .certificate(authority: authority, certificate: certificate))
    }

    /// Proves a peer's identity by a certificate that a login service issues in exchange for a token.
    ///
    /// All communication of peers is encrypted. The certificate is stored, so sync continues without the
    /// service until it expires. The peer can sync with all peers that have certificates of the same
    /// authority, however they got them. The certificate is that of a small peer.
    ///
    /// - Parameters:
    ///   - appID: The application's id, 1 to 128 bytes.
    ///   - url: The login service: `https://host/path`. `Documentation/Security.md` describes its protocol.
    ///   - authority: The certificate of the application's authority (PEM), which must have issued the
    ///     device's certificate. `nil` accepts the one that the service names at the first login, and then no
    ///     other. In that case HTTPS alone proves that the service is the right one.
    ///   - authenticator: Asked to log in when a login is needed; the database keeps a reference to it.
    /// - Returns: The identity; errors in the address or the authority are reported when the database is
    ///   opened.
    public static func online(
      appID: String, url: String, authority: String? = nil,
      authenticator: any DunlinAuthenticationDelegate
    ) -> DunlinIdentity {
      let login = OnlineLogin(url: url, authority: authority, delegate: authenticator)
      return DunlinIdentity(appID: appID, proof: .online(login))
    }

    /// Like the form with a delegate, with a closure that is called whenever a login is needed.
    ///
    /// ```swift
    /// let identity = DunlinIdentity.online(
    ///   appID: "garage", url: "https://login.example.com/garage"
    /// ) { authenticator in
    ///   try await authenticator.login(token: try await session.token(), provider: "garage")
    /// }
    /// ```
    /// - Parameters:
    ///   - appID: As in the form with a delegate.
    ///   - url: As in the form with a delegate.
    ///   - authority: As in the form with a delegate.
    ///   - authenticator: Logs in; errors that it throws are reported.
    /// - Returns: The identity.
    public static func online(
      appID: String, url: String, authority: String? = nil,
      authenticator: @escaping @Sendable (DunlinAuthenticator) async throws -> Void
    ) -> DunlinIdentity {
      online(appID: appID, url: url, authority: authority, authenticator: ClosureDelegate(authenticator))
    }
  #endif
}
