import CRDTCore
public import DocStore

extension Engine {
  /// ALTER SYSTEM and SHOW, which read no document, and statements that cannot be executed.
  func execute(
    withoutDocuments statement: Statement, _ arguments: [TextKey: Value]
  ) throws -> QueryResult {
    switch statement {
    case .alterSystem(let change):
      return QueryResult(rows: try execute(change, arguments).map { [Row([$0: $1])] } ?? [])
    case .show(let show): return QueryResult(rows: [Row(try values(show))])
    case .createIndex, .dropIndex, .advise:
      throw QueryError.unsupported("\(statement.verb) inside a transaction")
    case .compound, .select, .insert, .update, .delete, .evict, .explain, .profile:
      preconditionFailure("a statement on documents needs a transaction")
    }
  }

  /// Changes parameters.
  ///
  /// - Returns: The parameter and its value, where it is one.
  private func execute(
    _ change: AlterSystem, _ arguments: [TextKey: Value]
  ) throws -> (TextKey, Value)? {
    switch change {
    case .set(let name, let expression):
      guard let value = try Evaluator.evaluate(constant: expression, arguments: arguments) else {
        throw QueryError(.argument, "the parameter '\(name.text.lowercased())' cannot be set to MISSING")
      }
      try parameters.set(name.text, to: value)
      return (TextKey(name.text.lowercased()), value)
    case .reset(let name):
      try parameters.reset(name.text)
      return (TextKey(name.text.lowercased()), try parameters.value(of: name.text))
    case .resetAll:
      try parameters.resetAll()
      return nil
    }
  }

  private func values(_ show: Show) throws(QueryError) -> [TextKey: Value] {
    switch show {
    case .parameter(let name): return [TextKey(name.text.lowercased()): try parameters.value(of: name.text)]
    case .all(like: nil, _): return parameters.values
    case .all(like: .some(let pattern), let caseInsensitive):
      guard let compiled = LikePattern(pattern.text, caseInsensitive: caseInsensitive) else {
        throw QueryError(.limit, "the pattern of SHOW ALL is too long")
      }
      return parameters.values.filter { compiled.matches($0.key.text) }
    }
  }
}

extension SystemParameters {
  /// Keeps a store's size limits and lifetimes at the values of their parameters, from now on.
  ///
  /// The defaults of the lifetimes become those with which the store was opened, in whole hours.
  public func govern(_ store: Store) throws(QueryError) {
    try observe(BuiltInParameter.documentSizeSoftLimit.rawValue) { [weak store] in
      if case .int(let bytes) = $0 { store?.softDocumentBytes = Int(bytes) }
    }
    try observe(BuiltInParameter.documentSizeHardLimit.rawValue) { [weak store] in
      if case .int(let bytes) = $0 { store?.hardDocumentBytes = Int(bytes) }
    }
    governLifetimes(of: store)
  }

  /// Gives the lifetimes of deletions other defaults.
  ///
  /// They apply at once, unless `ALTER SYSTEM` has set others.
  /// - Parameters:
  ///   - tombstoneHours: The lifetime of tombstones, from 1 to 876,600 hours.
  ///   - certificateHours: The lifetime of the compacted tombstones that follow, up to 876,600 hours; 0 means
  ///     for ever.
  /// - Throws: `argument` for a number out of range, and what the keeper of the parameters throws; then
  ///   nothing has changed.
  package func setLifetimes(tombstoneHours: Int64, certificateHours: Int64) throws {
    try redefine([
      (.tombstoneLifetimeHours, .int(tombstoneHours)), (.tombstoneLifetimeEnabled, .bool(true)),
      (.certificateLifetimeHours, .int(certificateHours)),
    ])
  }

  private func governLifetimes(of store: Store) {
    let tombstone: ChangeHandler = { [weak self, weak store] _ in
      guard let values = self?.values, case .int(let hours)? = values.lifetime(.tombstoneLifetimeHours),
        case .bool(let isEnabled)? = values.lifetime(.tombstoneLifetimeEnabled)
      else { return }
      store?.tombstoneLifetime = isEnabled ? .seconds(hours * 3_600) : nil
    }
    let hours = store.tombstoneLifetime.map(Self.hours) ?? 168
    adopt(.tombstoneLifetimeHours, default: .int(max(hours, 1)), onChange: tombstone)
    adopt(.tombstoneLifetimeEnabled, default: .bool(store.tombstoneLifetime != nil), onChange: tombstone)
    let certificateHours = store.certificateLifetime.map { max(Self.hours($0), 1) } ?? 0
    adopt(.certificateLifetimeHours, default: .int(certificateHours)) { [weak store] in
      guard case .int(let hours) = $0 else { return }
      store?.certificateLifetime = hours == 0 ? nil : .seconds(hours * 3_600)
    }
  }

  private static func hours(_ duration: Duration) -> Int64 { duration.components.seconds / 3_600 }
}

extension [TextKey: Value] {
  fileprivate func lifetime(_ parameter: BuiltInParameter) -> Value? { self[parameter.rawValue] }
}
