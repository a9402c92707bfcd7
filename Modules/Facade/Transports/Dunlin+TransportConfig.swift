extension Dunlin {
  /// The current configuration of how this peer connects with others.
  public var transportConfig: DunlinTransportConfig { core.transports.config }

  /// Changes how this peer connects with others: at once while sync runs, otherwise from `startSync()` on.
  ///
  /// Connections that the new configuration also contains go on undisturbed.
  /// - Parameter change: Changes a copy of the configuration. It is called again if another update comes
  ///   between. When it throws, nothing changes.
  /// - Throws: `argument`, `unreachable` with the mistake; `unsupported` for what this system cannot do;
  ///   `portInUse`, `permission` or `io` for an address that cannot be listened on; `closed`. Then nothing
  ///   has changed.
  public func updateTransportConfig(_ change: (inout DunlinTransportConfig) throws -> Void) throws {
    guard core.state.isOpen else { throw DunlinError(.closed, "the database is closed") }
    try core.transports.update(change)
  }

  /// Replaces the configuration of how this peer connects with others, like `updateTransportConfig`.
  public func setTransportConfig(_ config: DunlinTransportConfig) throws {
    try updateTransportConfig { $0 = config }
  }
}
