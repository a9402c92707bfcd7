#if TLS
  package import Transports

  extension Dunlin {
    /// Believes devices with these keys no more while the database is open: their sessions end at once, and no other one begins.
    package func revoke(_ keys: Set<PeerKey>) { sync.core.network.revoke(keys) }

    /// Logs in and out; `nil` unless the database's identity is one from logins.
    public var auth: DunlinAuthenticator? {
      sync.core.identity?.login.map { DunlinAuthenticator(keeper: $0) }
    }

    /// Takes a renewed certificate while the database is open.
    ///
    /// New connections prove themselves with it. Sessions that run stay until the certificate ends with which they were made, and
    /// are then made anew at once; for another user or authority they are made anew now.
    ///
    /// - Parameter identity: A `.certificate` for the same application and device key, in place of the one before.
    /// - Throws: `identity` when it is not right, `argument` when it is of another kind or application; then the one before stays.
    ///   `closed`.
    public func updateIdentity(_ identity: DunlinIdentity) async throws {
      guard sync.core.isOpen else { throw DunlinError(.closed, "the database is closed") }
      guard let keeper = sync.core.identity else {
        throw DunlinError(.argument, "the development identity has nothing that could be renewed")
      }
      try await keeper.update(identity)
    }
  }
#endif
