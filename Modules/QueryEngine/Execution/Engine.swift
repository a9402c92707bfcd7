public import CRDTCore
public import DocStore

/// Executes statements of both query languages on a store.
///
/// A statement is atomic: it takes effect as a whole or fails and leaves everything as it was.
public struct Engine: Sendable {
  public let store: Store
  public let parameters: SystemParameters
  public let environment: EngineEnvironment
  let settings: StatementSettings
  /// What layers above report about themselves in virtual collections.
  public let providers = SystemProviders()
  let requests: RequestLog
  let hintLog: HintLog
  let fieldSamples = FieldSamples()
  let statements = StatementCache()

  public init(store: Store, parameters: SystemParameters, environment: EngineEnvironment) {
    self.store = store
    self.parameters = parameters
    self.environment = environment
    settings = StatementSettings(parameters)
    requests = RequestLog(parameters, environment)
    hintLog = HintLog(environment)
  }

  /// A context for one statement, whose timeout, from the system parameters, begins now.
  public func makeContext() -> StatementContext {
    StatementContext(environment, timeout: settings.timeout, strictTypes: settings.strictTypes)
  }

  /// A context for one statement of a caller that may use less than the system parameters allow.
  ///
  /// - Parameters:
  ///   - time: The longest time that the statement may run.
  ///   - memoryBytes: About how much memory it may use to gather, sort, group, join and compare rows.
  /// - Returns: The context.
  package func makeContext(within time: Duration, memoryBytes: Int) -> StatementContext {
    StatementContext(
      environment, timeout: settings.timeout.map { min($0, time) } ?? time, memoryBytes: memoryBytes,
      boundsRows: true, strictTypes: settings.strictTypes)
  }

  /// Executes one statement in a transaction of its own.
  public func execute(
    _ statement: Statement, arguments: [TextKey: Value] = [:], context: StatementContext? = nil
  ) throws -> QueryResult {
    let context = context ?? makeContext()
    switch statement {
    case .createIndex(let index): return try execute(index, context)
    case .dropIndex(let index): return try execute(index, context)
    case .advise(let advised, provisioning: true): return try provision(advised, arguments, context)
    default: break
    }
    guard statement.writes else {
      return try reading { try execute(statement, arguments: arguments, in: $0, context: context) }
    }
    var (result, receipt) = try store.write {
      try execute(statement, arguments: arguments, in: $0, context: context)
    }
    result.commit = receipt
    return result
  }

  /// Executes one statement in a transaction of its own without blocking the caller's actor.
  ///
  /// Cancelling the task ends a statement that has not begun to write.
  @concurrent
  public func execute(_ statement: Statement, arguments: [TextKey: Value] = [:]) async throws -> QueryResult {
    try await execute(statement, arguments: arguments, makeContext())
  }

  @concurrent
  func execute(
    _ statement: Statement, arguments: [TextKey: Value], _ context: StatementContext
  ) async throws -> QueryResult {
    try await withTaskCancellationHandler {
      switch statement {
      case .createIndex(let index): return try await execute(index, context)
      case .dropIndex(let index): return try await execute(index, context)
      case .advise(let advised, provisioning: true): return try await provision(advised, arguments, context)
      default: break
      }
      guard statement.writes else {
        return try reading { try execute(statement, arguments: arguments, in: $0, context: context) }
      }
      var (result, receipt) = try await store.write {
        try execute(statement, arguments: arguments, in: $0, context: context)
      }
      result.commit = receipt
      return result
    } onCancel: {
      context.cancel()
    }
  }

  /// Executes one statement on a snapshot.
  ///
  /// - Throws: `unsupported` for a statement that writes documents.
  public func execute(
    _ statement: Statement, arguments: [TextKey: Value] = [:], in transaction: borrowing ReadTransaction,
    context: StatementContext? = nil
  ) throws -> QueryResult {
    try execute(reading: statement, arguments, in: transaction, context ?? makeContext())
  }

  /// Executes one statement inside a write transaction, which sees what it wrote and commits it later.
  ///
  /// A statement that fails has written nothing, and the transaction can go on.
  public func execute(
    _ statement: Statement, arguments: [TextKey: Value] = [:], in transaction: WriteTransaction,
    context: StatementContext? = nil
  ) throws -> QueryResult {
    let context = context ?? makeContext()
    switch statement {
    case .insert(let insert):
      return try execute(insert, arguments, in: transaction, context).hinted(by: context)
    case .update(let update):
      return try execute(update, arguments, in: transaction, context).hinted(by: context)
    case .delete(let removal):
      return try execute(removal, arguments, in: transaction, context, as: .delete).hinted(by: context)
    case .evict(let removal):
      return try execute(removal, arguments, in: transaction, context, as: .evict).hinted(by: context)
    case .profile(let profiled):
      return try profiling(profiled, context) {
        try execute(profiled, arguments: arguments, in: transaction, context: context)
      }
    case .select, .compound, .explain, .advise, .createIndex, .dropIndex, .alterSystem, .show:
      return try execute(reading: statement, arguments, in: transaction, context)
    }
  }

  /// Executes a statement that writes no documents.
  private func execute(
    reading statement: Statement, _ arguments: [TextKey: Value],
    in source: borrowing some RecordSource & ~Copyable, _ context: StatementContext
  ) throws -> QueryResult {
    switch statement {
    case .select(let select):
      return QueryResult(rows: try rows(of: select, arguments, in: source, context)).hinted(by: context)
    case .explain(let explained): return try explain(explained, arguments, in: source)
    case .profile(let profiled):
      return try profiling(profiled, context) {
        try execute(reading: profiled, arguments, in: source, context)
      }
    case .advise(let advised, provisioning: false): return try advise(advised, arguments, in: source)
    case .insert, .update, .delete, .evict:
      throw QueryError(.unsupported, "a statement that writes cannot run in a read transaction")
    case .compound(let compound):
      return QueryResult(rows: try rows(of: compound, arguments, in: source, context)).hinted(by: context)
    case .createIndex, .dropIndex, .alterSystem, .show, .advise:
      return try execute(withoutDocuments: statement, arguments)
    }
  }

  private func explain(
    _ statement: Statement, _ arguments: [TextKey: Value], in source: borrowing some RecordSource & ~Copyable
  ) throws -> QueryResult {
    let statement = try answering(statement, arguments, in: source, makeContext())
    let catalogue = try QueryCatalogue(statement.collections, in: source)
    return QueryResult(rows: [
      Row(["plan": try statement.advised(by: settings.hints).explanation(arguments, catalogue)])
    ])
  }
}

extension Statement {
  /// Whether its execution needs a write transaction.
  var writes: Bool {
    switch self {
    case .insert, .update, .delete, .evict: true
    case .profile(let profiled): profiled.writes
    case .select, .compound, .createIndex, .dropIndex, .alterSystem, .show, .explain, .advise: false
    }
  }
}

extension Plan {
  /// The plan itself.
  ///
  /// It throws for a virtual collection, which cannot be written.
  func writable() throws(QueryError) -> Plan {
    guard case .virtual = access else { return self }
    throw QueryError(.unsupported, "the virtual collection '\(collection)' is read-only")
  }
}
