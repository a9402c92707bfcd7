#if Server
  /// The storage of revocations and the audit log of logins.
  ///
  /// It has tables of keys and values that change in transactions.
  package protocol LoginStorage: Sendable {
    /// Changes tables in one transaction, which is durable when this returns.
    ///
    /// A transaction that throws changes nothing.
    func write(_ body: @escaping @Sendable (any LoginTables) throws -> Void) async throws

    /// Reads tables in one snapshot.
    func read(_ body: (any LoginTables) throws -> Void) throws
  }

  /// The tables in one transaction.
  package protocol LoginTables {
    /// The value at a key; `nil` if there is none.
    func value(_ table: LoginTable, _ key: [UInt8]) throws -> [UInt8]?

    /// Writes a value at a key, or removes it; only in a transaction that writes.
    func set(_ value: [UInt8]?, _ table: LoginTable, _ key: [UInt8]) throws

    /// Visits entries in the order of their keys from one key on, until `body` returns `false`.
    ///
    /// Damaged entries are skipped if `damaged` is given, which gets their keys. Otherwise a damaged entry is
    /// an error.
    func forEach(
      _ table: LoginTable, from key: [UInt8], damaged: ((_ key: [UInt8]) -> Void)?,
      _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
    ) throws
  }

  /// The tables for logins.
  package enum LoginTable: String, Hashable, Sendable, CaseIterable {
    /// Issued certificates, and revocations.
    case audit = "login.audit"
    /// Logins that were refused.
    case refusals = "login.refusals"
    /// The revoked keys.
    case revocations = "login.revocations"
    /// The ranges of the two lists of the audit log.
    case state = "login.state"
  }
#endif
