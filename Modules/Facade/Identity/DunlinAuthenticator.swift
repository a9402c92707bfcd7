#if TLS
  /// Logs in and out: the `auth` of a database whose identity comes from logins.
  public struct DunlinAuthenticator: Sendable {
    let keeper: LoginKeeper

    /// Exchanges a token of the application for a certificate, which is stored for later starts.
    ///
    /// If sync was started, it begins at once. If another user was logged in, sessions end and start again.
    /// If several logins are in progress, only the newest has an effect; the others throw `cancelled`.
    ///
    /// - Parameters:
    ///   - token: Proves to the login service who the user is, 1 byte to 16 KiB; it is not stored.
    ///   - provider: The name of the service's method that verifies this token, 1 to 128 bytes.
    /// - Returns: The service's information for the application, as JSON; `nil` if there is none.
    /// - Throws: `authentication` when the service refuses the token; `unreachable`, `timeout` or
    ///   `unavailable` when the service does not answer now; `identity` when the service cannot be trusted or
    ///   its certificate is invalid; `argument`, `cancelled`, `closed`, `full`, `io`. The present login then
    ///   stays.
    @discardableResult
    public func login(token: String, provider: String) async throws -> String? {
      try await keeper.login(token: token, provider: provider)
    }

    /// Logs in, and calls `completion` with the service's information or with the error.
    ///
    /// - Parameters:
    ///   - token: As in the form that is awaited.
    ///   - provider: As in the form that is awaited.
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

    /// Whether a user is logged in, who it is, and until when.
    public var status: DunlinAuthenticationStatus { keeper.status }

    /// The status, now and after each change; a slow reader gets the newest one.
    ///
    /// The sequence ends when the task is cancelled or the database closes.
    public var statuses: AsyncStream<DunlinAuthenticationStatus> { keeper.statuses() }

    /// Reports a failure that nothing else would report.
    func gaveUp(_ error: any Error) { keeper.gaveUp(error) }
  }
#endif
