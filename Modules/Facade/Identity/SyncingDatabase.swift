#if TLS
  /// A database whose sync a logout stops.
  protocol SyncingDatabase: AnyObject, Sendable {
    /// Stops syncing.
    func stopSync()
  }
#endif
