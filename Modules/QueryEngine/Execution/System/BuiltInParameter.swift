import CRDTCore

/// The parameters that every store has, with their types and bounds.
enum BuiltInParameter: String, CaseIterable {
  case userCollectionSyncScopes = "user_collection_sync_scopes"
  case documentSizeSoftLimit = "document_size_soft_limit_bytes"
  case documentSizeHardLimit = "document_size_hard_limit_bytes"
  case strictMode = "dql_strict_mode"
  case strictTypes = "dql_strict_types"
  case requestTimeoutSeconds = "dql_request_timeout_seconds"
  case slowRequestSeconds = "dql_slow_request_warn_seconds"
  case requestHistorySize = "dql_request_history_size"
  case defaultDirectives = "dql_default_directives"
  case restrictSubscriptions = "dql_restrict_subscriptions"
  case tombstoneLifetimeEnabled = "tombstone_ttl_enabled"
  case tombstoneLifetimeHours = "tombstone_ttl_hours"
  case certificateLifetimeHours = "certificate_ttl_hours"

  var defaultValue: Value {
    switch self {
    case .userCollectionSyncScopes, .defaultDirectives: .map([:])
    case .documentSizeSoftLimit: .int(Int64(Limits.softDocumentBytes))
    case .documentSizeHardLimit: .int(Int64(Limits.hardDocumentBytes))
    case .strictMode, .strictTypes: .bool(false)
    case .requestTimeoutSeconds: .int(0)
    case .slowRequestSeconds: .int(60)
    case .requestHistorySize: .int(4_096)
    case .restrictSubscriptions, .tombstoneLifetimeEnabled: .bool(true)
    case .tombstoneLifetimeHours: .int(168)
    case .certificateLifetimeHours: .int(8_760)
    }
  }

  func validate(_ value: Value) throws(QueryError) {
    switch self {
    case .userCollectionSyncScopes:
      guard case .map = value else { throw mismatch("an object") }
    case .defaultDirectives:
      guard case .map(let directives) = value else { throw mismatch("an object") }
      _ = try Hints(directives: directives)
    case .documentSizeSoftLimit, .documentSizeHardLimit:
      try validate(value, in: 1...Int64(Limits.recordBytes))
    case .requestHistorySize: try validate(value, in: 0...1_000_000)
    case .requestTimeoutSeconds, .slowRequestSeconds:
      // 0 means no bound.
      try validate(value, in: 0...31_536_000)
    case .tombstoneLifetimeHours:
      // At most a century; a separate switch turns the lifetime off.
      try validate(value, in: 1...876_600)
    case .certificateLifetimeHours:
      // 0 means for ever.
      try validate(value, in: 0...876_600)
    case .strictMode:
      guard case .bool(let flag) = value else { throw mismatch("true or false") }
      guard !flag else {
        throw QueryError(.unsupported, "strict mode is not supported: \(rawValue) can only be false")
      }
    case .restrictSubscriptions, .tombstoneLifetimeEnabled, .strictTypes:
      guard case .bool = value else { throw mismatch("true or false") }
    }
  }

  private func validate(_ value: Value, in range: ClosedRange<Int64>) throws(QueryError) {
    guard case .int(let number) = value else { throw mismatch("an integer") }
    guard range.contains(number) else {
      throw mismatch("an integer from \(range.lowerBound) to \(range.upperBound)")
    }
  }

  private func mismatch(_ expected: String) -> QueryError {
    QueryError(.argument, "the parameter '\(rawValue)' expects \(expected)", expected: [expected])
  }
}
