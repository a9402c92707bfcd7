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

  /// How far the store's clock is ahead of the wall clock; zero as a rule.
  ///
  /// Each write is later than those before. Where the wall clock was ahead once, or is behind now, writes go on from the
  /// latest one, and win every conflict until the wall clock has come that far. See `trustClock()`.
  /// - Throws: `closed`, `forked`, `tooManyReaders`, `corrupt`, `io`.
  public func clockLead() throws -> Duration {
    let latest = try read { $0.latestReading.milliseconds }
    return Self.lead(of: latest, options.now())
  }

  static func lead(of milliseconds: UInt64, _ now: UInt64) -> Duration {
    .milliseconds(Int64(clamping: milliseconds > now ? milliseconds - now : 0))
  }

  /// The wall clock in milliseconds since 1970.
  package var wallTime: UInt64 { options.now() }

  /// The same, unless it is far behind a reading that was given out, and so was wrong then or is wrong now.
  package func wallTime(unlessBehind latest: ClockReading) -> UInt64? {
    let now = options.now()
    return now + WriterSettings.tolerableLead >= latest.milliseconds ? now : nil
  }

  /// Has the store's clock begin anew at the wall clock, since that is right and was ahead once.
  ///
  /// Readings repeat then, so the store becomes a site of its own, as with `renewSite(_:)`. What was written stays with the time
  /// that it has; a write to a document is later than all that is in it, as ever.
  /// - Returns: Whether it was ahead; else nothing is changed.
  /// - Throws: As `renewSite(_:)`.
  @discardableResult
  public func trustClock() throws -> Bool {
    let change = identityChange
    try maintain { writer, environment in try writer.trustClock(environment) }
    return identityChange != change
  }

  /// As the form that blocks.
  @discardableResult
  public func trustClock() async throws -> Bool {
    let change = identityChange
    try await maintain { writer, environment in try writer.trustClock(environment) }
    return identityChange != change
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
