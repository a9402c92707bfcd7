/// How long deletions are remembered; may change while the store is open.
struct Lifetimes: Sendable {
  /// Of tombstones, removed fields and records of what was written together; `nil` for ever.
  var tombstone: Duration?
  /// Of death certificates; `nil` for ever.
  var certificate: Duration?

  /// The time before which what has lived for `lifetime` came to be; nothing did before 0.
  static func horizon(_ now: UInt64, _ lifetime: Duration?) -> UInt64 {
    guard let lifetime else { return 0 }
    let (seconds, attoseconds) = lifetime.components
    let milliseconds = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000)
    let whole = milliseconds.overflow ? UInt64.max : milliseconds.partialValue
    let age = whole.addingReportingOverflow(UInt64(clamping: attoseconds / 1_000_000_000_000_000))
    return now - min(now, age.overflow ? .max : age.partialValue)
  }
}

extension Store {
  /// How long tombstones, removed fields and the records of transactions are kept; `nil` for ever.
  ///
  /// A change counts from the next collection on, for what is there already too.
  public var tombstoneLifetime: Duration? {
    get { housekeeping.lifetimes.withLock { $0.tombstone } }
    set { housekeeping.lifetimes.withLock { $0.tombstone = newValue } }
  }

  /// How long the death certificates that follow tombstones are kept; `nil` for ever.
  public var certificateLifetime: Duration? {
    get { housekeeping.lifetimes.withLock { $0.certificate } }
    set { housekeeping.lifetimes.withLock { $0.certificate = newValue } }
  }

  /// Forgets what is older than its lifetime, in slices between which others write.
  ///
  /// The store does so by itself every ten minutes; this is for those who cannot wait. Nobody sees a difference:
  /// it is no write, and is not told to peers.
  /// - Throws: `nestedWriteTransaction` inside a write transaction; `closed` as soon as the store closes; else
  ///   as a write does.
  public func collect() throws {
    try checkMayWrite()
    try housekeeping.collect()
  }
}
