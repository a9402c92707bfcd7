#if TLS
  public import Foundation

  /// Whether somebody is logged in.
  public struct DunlinAuthenticationStatus: Hashable, Sendable {
    /// Whether the device has a certificate that holds.
    public let isAuthenticated: Bool
    /// The user that the certificate names.
    public let userID: String?
    /// Until when the certificate holds; without a network sync goes on until then.
    public let validUntil: Date?
  }

  /// Logs in and out: the `auth` of a database whose identity comes from logins.
  public struct DunlinAuthenticator: Sendable {
    let keeper: LoginKeeper

    /// Exchanges a token of the application's for a certificate, which is kept for the next starts.
    ///
    /// Sync that was started begins at once. Where another user was logged in, sessions end and begin anew. Of several
    /// logins that are under way only the newest one has an effect; the others are `cancelled`.
    ///
    /// - Parameters:
    ///   - token: What proves to the login service who the user is, 1 byte to 16 KiB; it is not kept.
    ///   - provider: Which of the service's ways to verify a token this one is for, 1 to 128 bytes.
    /// - Returns: What the service has to say to the application, as JSON; `nil` where it says nothing.
    /// - Throws: `authentication` when the token is refused; `unreachable`, `timeout` or `unavailable` when the service does not
    ///   answer now; `identity` when it is not to be believed or its certificate is not right; `argument`, `cancelled`, `closed`, `full`, `io`. What
    ///   was there before stays.
    @discardableResult
    public func login(token: String, provider: String) async throws -> String? {
      try await keeper.login(token: token, provider: provider)
    }

    /// Logs in, and calls `completion` with what the service has to say or with the error.
    ///
    /// - Parameters:
    ///   - token: As for the form that is awaited.
    ///   - provider: As for the form that is awaited.
    ///   - completion: Called once, on any thread.
    public func login(
      token: String, provider: String, completion: @escaping @Sendable (String?, DunlinError?) -> Void
    ) {
      Task { [keeper] in
        do throws(DunlinError) {
          completion(try await keeper.login(token: token, provider: provider), nil)
        } catch {
          completion(nil, error)
        }
      }
    }

    /// Stops sync and forgets the certificate; all data stays.
    ///
    /// The certificate itself holds until it ends, but nobody has it any more. The application's authority stays known, so that
    /// the next login cannot lead into another application.
    ///
    /// - Parameters:
    ///   - forgetsAuthority: Whether the next login may name another authority.
    ///   - cleanup: Called with the database when sync is stopped, for example to evict what the user had.
    /// - Throws: `io` when the file cannot be changed; then the certificate is still in it. What `cleanup` throws.
    public func logout(forgetsAuthority: Bool = false, cleanup: ((Dunlin) throws -> Void)? = nil) throws {
      let dunlin = try keeper.logout(forgetsAuthority: forgetsAuthority)
      if let dunlin { try cleanup?(dunlin) }
    }

    /// Whether somebody is logged in, and who.
    public var status: DunlinAuthenticationStatus { keeper.status }

    /// The status, now and after each change; whoever is slow gets the newest one.
    ///
    /// It ends when the task is cancelled or the database closes.
    public var statuses: AsyncStream<DunlinAuthenticationStatus> { keeper.statuses() }

    /// Reports a failure that nobody else hears of.
    func gaveUp(_ error: any Error) { keeper.gaveUp(error) }
  }
#endif
