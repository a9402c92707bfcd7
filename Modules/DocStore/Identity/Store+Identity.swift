public import CRDTCore

extension Store {
  /// The site under which this store writes; it may change, see `renewSite(_:)`.
  public var site: SiteID { writer.identity.withLock { $0.current.site } }

  /// The salt from which the site is derived; zero if it is not derived from a key.
  ///
  /// ``StoreOptions/siteOfSalt`` derives the site from the salt with its key.
  public var siteSalt: SiteSalt { writer.identity.withLock { $0.current.salt } }

  /// A random number that identifies this store's log; it changes with the site.
  public var epoch: UInt64 { writer.identity.withLock { $0.current.epoch } }

  /// Why the store became a new site, at open or later; `nil` if it did not.
  public var identityChange: IdentityChange? { writer.identity.withLock { $0.change } }

  /// Makes the store a new site, because another store writes as the same site.
  ///
  /// All writes stay, under the former site. The change is durable when this returns. A crash before that
  /// leads to a new site as well. If you have sent the former site to anyone, send the new one: see
  /// ``onSiteChange(_:)``.
  /// - Parameter reason: Why the store becomes a new site.
  /// - Throws: `nestedWriteTransaction` inside a write transaction or a listener; `closed`, `poisoned`,
  ///   `full`, `io`.
  public func renewSite(_ reason: IdentityChange.Reason) throws {
    try maintain { writer, environment in try writer.renewSite(reason, environment) }
  }

  /// The asynchronous form of `renewSite(_:)`.
  public func renewSite(_ reason: IdentityChange.Reason) async throws {
    try await maintain { writer, environment in try writer.renewSite(reason, environment) }
  }

  /// How far the store's clock is ahead of the wall clock; normally zero.
  ///
  /// Each write is later than all writes before it. If the wall clock was ahead once, or is behind now,
  /// writes continue from the latest one. They win every conflict until the wall clock has caught up. See
  /// `trustClock()`.
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

  /// The wall time, unless it is far behind `latest`, so that one of the two must be wrong.
  package func wallTime(unlessBehind latest: ClockReading) -> UInt64? {
    let now = options.now()
    return now + WriterSettings.tolerableLead >= latest.milliseconds ? now : nil
  }

  /// Restarts the store's clock at the wall clock, which is right now and was ahead once.
  ///
  /// Timestamps then repeat, so the store becomes a new site, as with `renewSite(_:)`. Existing writes keep
  /// their time. A write to a document is still later than everything in the document.
  /// - Returns: Whether the clock was ahead; otherwise nothing has changed.
  /// - Throws: Like `renewSite(_:)`.
  @discardableResult
  public func trustClock() throws -> Bool {
    let change = identityChange
    try maintain { writer, environment in try writer.trustClock(environment) }
    return identityChange != change
  }

  /// The asynchronous form of `trustClock()`.
  @discardableResult
  public func trustClock() async throws -> Bool {
    let change = identityChange
    try await maintain { writer, environment in try writer.trustClock(environment) }
    return identityChange != change
  }

  /// Calls `listener` whenever the store has become a new site after it was opened.
  ///
  /// It is called on the writer thread, before anything is written as the new site. It must be quick, and
  /// must not wait for a write.
  /// - Returns: The registration, which ends when it is released.
  public func onSiteChange(_ listener: @escaping @Sendable (IdentityChange) -> Void) -> CommitListener {
    writer.siteListeners.add(listener)
  }
}
