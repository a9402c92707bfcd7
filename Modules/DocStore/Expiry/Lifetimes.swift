/// How long deletions are remembered; may change while the store is open.
struct Lifetimes: Sendable {
  /// The lifetime of tombstones, removed fields and transaction records; `nil` for ever.
  var tombstone: Duration?
  /// The lifetime of compacted tombstones; `nil` for ever.
  var certificate: Duration?

  /// The time before which entries are older than `lifetime`; 0 if none can be.
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
  /// How long tombstones, removed fields and transaction records are kept; `nil` for ever.
  ///
  /// A change takes effect with the next collection, also for existing entries.
  public var tombstoneLifetime: Duration? {
    get { housekeeping.lifetimes.withLock { $0.tombstone } }
    set { housekeeping.lifetimes.withLock { $0.tombstone = newValue } }
  }

  /// How long the compacted tombstones that follow tombstones are kept; `nil` for ever.
  public var certificateLifetime: Duration? {
    get { housekeeping.lifetimes.withLock { $0.certificate } }
    set { housekeeping.lifetimes.withLock { $0.certificate = newValue } }
  }

  /// Forgets what is older than its lifetime, in slices between which other transactions can write.
  ///
  /// The store does this by itself every ten minutes. Call it only if you cannot wait that long. Readers see
  /// no difference: it is not a write, and peers are not informed.
  /// - Throws: `nestedWriteTransaction` inside a write transaction; `closed` as soon as the store closes;
  ///   otherwise what a write throws.
  public func collect() throws {
    try checkMayWrite()
    try housekeeping.collect()
  }
}
