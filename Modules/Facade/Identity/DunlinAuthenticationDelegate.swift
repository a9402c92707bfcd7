#if TLS
  /// An application's part in logins: it is asked for one when the database needs a certificate.
  ///
  /// The database keeps its delegate. It is called from any thread, with one question at a time: the next one comes after the
  /// method has returned. A method may log in itself and wait for that, or have the user do it and return at once.
  public protocol DunlinAuthenticationDelegate: AnyObject, Sendable {
    /// There is no certificate: log in with ``DunlinAuthenticator/login(token:provider:)``.
    ///
    /// Until then the database reads and writes locally. A login that fails is asked for again, after a delay that grows.
    func authenticationRequired(authenticator: DunlinAuthenticator) async

    /// The certificate ends soon: log in again, so that sync goes on.
    ///
    /// It is called from about two thirds of the certificate's time on, and again whenever half of what is left has gone. Where it is not
    /// implemented, ``authenticationRequired(authenticator:)`` is called in its place.
    func authenticationExpiringSoon(authenticator: DunlinAuthenticator, secondsRemaining: Int64) async

    /// Somebody has logged in or out, or the certificate has ended; implement it to hear of that.
    func authenticationStatusDidChange(authenticator: DunlinAuthenticator)
  }

  extension DunlinAuthenticationDelegate {
    public func authenticationExpiringSoon(authenticator: DunlinAuthenticator, secondsRemaining: Int64) async
    {
      await authenticationRequired(authenticator: authenticator)
    }

    public func authenticationStatusDidChange(authenticator: DunlinAuthenticator) {}
  }

  /// A delegate that is one closure.
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

  /// What a database needs to get certificates from logins.
  struct OnlineLogin: Hashable, Sendable {
    let url: String
    /// The application's authority (PEM); `nil` believes the service at the first login.
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
