public import CRDTCore

extension Store {
  /// This store instance's writer lineage; it may change, see `renewSite(_:)`.
  public var site: SiteID { writer.identity.withLock { $0.current.site } }

  /// What the site follows from, with the key that ``StoreOptions/siteOfSalt`` knows; zero where it follows from none.
  public var siteSalt: SiteSalt { writer.identity.withLock { $0.current.salt } }

  /// A random number that names this store's log; it changes with the site.
  public var epoch: UInt64 { writer.identity.withLock { $0.current.epoch } }

  /// What made the store a new site, at open or since; `nil` when nothing did.
  public var identityChange: IdentityChange? { writer.identity.withLock { $0.change } }

  /// Makes the store a site of its own from now on, since another one writes as the same site.
  ///
  /// What was written stays, as the former site's. That is durable when this returns; crashes on the way lead to
  /// a new site as well. Who has told anybody the former site must do so anew: see ``onSiteChange(_:)``.
  /// - Parameter reason: What gave it away.
  /// - Throws: `nestedWriteTransaction` inside a write transaction or a listener; `closed`, `poisoned`, `full`, `io`.
  public func renewSite(_ reason: IdentityChange.Reason) throws {
    try maintain { writer, environment in try writer.renewSite(reason, environment) }
  }

  /// As the form that blocks.
  public func renewSite(_ reason: IdentityChange.Reason) async throws {
    try await maintain { writer, environment in try writer.renewSite(reason, environment) }
  }

  /// Calls `listener` whenever the store has become a site of its own after it was opened.
  ///
  /// It is called on the thread that writes, before anything is written as the new site; it must be quick, and cannot
  /// write by waiting.
  /// - Returns: The registration, which ends when it is let go of.
  public func onSiteChange(_ listener: @escaping @Sendable (IdentityChange) -> Void) -> CommitListener {
    writer.siteListeners.add(listener)
  }
}
