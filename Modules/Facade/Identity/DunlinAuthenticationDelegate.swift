#if TLS
  /// An application's part in logins: the database asks it to log in when it needs a certificate.
  ///
  /// The database keeps a strong reference to its delegate. It calls the delegate from any thread, with one
  /// question at a time: the next call comes after the method has returned. A method may log in and wait for
  /// that itself, or let the user do it and return at once.
  public protocol DunlinAuthenticationDelegate: AnyObject, Sendable {
    /// There is no certificate: log in with ``DunlinAuthenticator/login(token:provider:)``.
    ///
    /// Until then the database reads and writes locally. If a login fails, the database asks again, after a
    /// delay that grows.
    func authenticationRequired(authenticator: DunlinAuthenticator) async

    /// The certificate expires soon: log in again, so that sync continues.
    ///
    /// The database calls this from about two thirds of the certificate's lifetime on, and again whenever
    /// half of the remaining time has passed. A delegate without this method gets
    /// ``authenticationRequired(authenticator:)`` instead.
    func authenticationExpiringSoon(authenticator: DunlinAuthenticator, secondsRemaining: Int64) async

    /// Called when a user has logged in or out, or the certificate has expired; optional.
    func authenticationStatusDidChange(authenticator: DunlinAuthenticator)
  }

  extension DunlinAuthenticationDelegate {
    public func authenticationExpiringSoon(authenticator: DunlinAuthenticator, secondsRemaining: Int64) async
    {
      await authenticationRequired(authenticator: authenticator)
    }

    public func authenticationStatusDidChange(authenticator: DunlinAuthenticator) {}
  }

  /// A delegate that consists of one closure.
  final class ClosureDelegate: DunlinAuthenticationDelegate {
    private let logIn: @Sendable (DunlinAuthenticator) async throws -> Void

    init(_ logIn: @escaping @Sendable (DunlinAuthenticator) async throws -> Void) { self.logIn = logIn }

    func authenticationRequired(authenticator: DunlinAuthenticator) async {
      do {
        try await logIn(authenticator)
      } catch {
        authenticator.gaveUp(error)
      }
    }
  }

  /// What a database needs to get certificates through logins.
  struct OnlineLogin: Hashable, Sendable {
    let url: String
    /// The application's authority (PEM); `nil` trusts the service at the first login.
    let authority: String?
    let delegate: any DunlinAuthenticationDelegate

    static func == (left: OnlineLogin, right: OnlineLogin) -> Bool {
      left.url == right.url && left.authority == right.authority && left.delegate === right.delegate
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(url)
      hasher.combine(authority)
      hasher.combine(ObjectIdentifier(delegate))
    }
  }
#endif
