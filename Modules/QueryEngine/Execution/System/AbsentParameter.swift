import CRDTCore

/// Parameters of the model product that do not exist here, with what does their work.
enum AbsentParameter {
  enum Substitute {
    /// Another parameter.
    case parameter(BuiltInParameter)
    /// A setting or a command that is no parameter; the end of a sentence.
    case setting(String)
  }

  /// What does the work of a parameter.
  ///
  /// - Parameter name: Its name in lower case.
  /// - Returns: `nil` for names that the model product does not have either.
  static func substitute(for name: String) -> Substitute? {
    if let known = substitutes[name] { return known }
    return families.first { name.utf8.starts(with: $0.prefix.utf8) }?.substitute
  }

  private static let substitutes: [TextKey: Substitute] = [
    // Tombstones are compacted automatically, a few with each write, and not at set hours or in batches.
    "days_between_reaping": .parameter(.tombstoneLifetimeHours),
    "tombstone_reap_batch_size": .parameter(.tombstoneLifetimeHours),
    // The statements of a transaction are logged one by one.
    "transaction_duration_before_logging_ms": .parameter(.slowRequestSeconds),
    "dql_restrict_subscription": .parameter(.restrictSubscriptions),
    "disable_replication_gc_on_evict": .setting(
      "an eviction leaves nothing behind here, so nothing is to set"),
    "peer_certificate_revocation_check_enabled": .setting(
      "peers refuse what 'dunlin ca revoke' and 'bigpeer revoke' name"),
    "tcp_server_bind_mdns_server_port": .setting("set DunlinTransportConfig.listen.tcp.port"),
    "transports_discovered_peers": .setting("set DunlinTransportConfig.connect.tcpServers"),
    "avoid_redundant_bluetooth": links,
  ]

  /// Parameters that are many, by the beginnings of their names.
  private static let families: [(prefix: String, substitute: Substitute)] = [
    ("mesh_chooser_", links),
    ("rotating_log_file_", .setting("set DunlinConfiguration.logger, which decides where log lines go")),
  ]

  private static let links = Substitute.setting("DunlinTransportConfig says which peers this one connects to")
}
