#if TLS
  extension DunlinAuthenticator {
    /// Stops sync and deletes the certificate; all data stays.
    ///
    /// The certificate itself stays valid until it expires, but no copy of it remains. The application's
    /// authority stays stored, so that the next login cannot lead into another application.
    ///
    /// - Parameters:
    ///   - forgetsAuthority: Whether the next login may have another authority.
    ///   - cleanup: Called with the database after sync has stopped, for example to evict the user's
    ///     documents.
    /// - Throws: `io` when the file cannot be changed; the certificate is then still in it. What `cleanup`
    ///   throws.
    public func logout(forgetsAuthority: Bool = false, cleanup: ((Dunlin) throws -> Void)? = nil) throws {
      let database = try keeper.logout(forgetsAuthority: forgetsAuthority)
      if let dunlin = database as? Dunlin { try cleanup?(dunlin) }
    }
  }

  extension Dunlin: SyncingDatabase {}
#endif
