#if TLS
  import DocStore

  extension Dunlin {
    /// Logs in and out; `nil` unless the database has an identity that comes from logins.
    public var auth: DunlinAuthenticator? {
      core.sync.identity?.login.map { DunlinAuthenticator(keeper: $0) }
    }

    /// Replaces the certificate by a renewed one while the database is open.
    ///
    /// New connections use the new certificate. Sessions that run continue until the certificate that they
    /// use expires; then they are made again at once. If the user or the authority is another one, they are
    /// made again now.
    ///
    /// - Parameter identity: A `.certificate` for the same application and device key, which replaces the
    ///   present one.
    /// - Throws: `identity` when it is invalid, `argument` when it is of another kind or application; then
    ///   the present one stays. `closed`, `readOnlyStore`.
    public func updateIdentity(_ identity: DunlinIdentity) async throws {
      guard core.state.isOpen else { throw DunlinError(.closed, "the database is closed") }
      guard !core.store.isReadOnly else { throw DunlinError.readOnlyStore("an identity is for sync") }
      guard let keeper = core.sync.identity else {
        throw DunlinError(.argument, "the development identity has nothing that could be renewed")
      }
      try await keeper.update(identity)
    }
  }
#endif
