public import CRDTCore
package import DocStore
package import QueryEngine

/// How an upsert treats what is there: `.merge`, `.insertIfAbsent`, `.insertDefaultIfAbsent` or
/// `.updateDifferentValues`.
public typealias DunlinWriteStrategy = WriteStrategy

/// The documents of a database.
public struct DunlinStore: Sendable {
  let core: Core

  /// A collection, which need not exist yet.
  public func collection(_ name: String) -> DunlinCollection { DunlinCollection(name: name, core: core) }

  /// A collection, which need not exist yet.
  public subscript(name: String) -> DunlinCollection { collection(name) }

  /// The names of all collections that were ever written here, sorted.
  ///
  /// - Throws: `closed`, `io`.
  public func collectionNames() throws -> [String] {
    try translatingErrors { try core.store.read { try $0.collections().map(\.name) } }
  }

  /// All collections that were ever written here, by name.
  ///
  /// - Throws: `closed`, `io`.
  public func collections() throws -> [DunlinCollection] { try collectionNames().map(collection) }
}

extension DunlinStore {
  /// The store below, for the project's own tools.
  package var database: Store { core.store }

  /// What executes statements, for the project's own tools.
  package var engine: Engine { core.engine }

  /// Begins to read the rows of a query on a thread of its own, no further ahead than they are taken.
  ///
  /// - Parameters:
  ///   - prepared: A statement that changes nothing.
  ///   - arguments: The values of its parameters.
  ///   - context: How long it may go on.
  ///   - make: Makes what is handed out of a row, on that thread.
  /// - Returns: The rows; who takes no more of them stops the reader.
  /// - Throws: `limit` when as many results are read as may be; `noMemory`, `closed`.
  package func beginRows<Element>(
    _ prepared: PreparedStatement, _ arguments: [TextKey: Value], _ context: StatementContext,
    _ make: @escaping RowReader<Element>.Make
  ) throws(DunlinError) -> RowReader<Element> {
    try core.rowReaders.begin(prepared, arguments, on: core.engine, within: context, make)
  }

  /// The same for a query that has no text.
  package func beginRows<Element>(
    _ select: Select, _ arguments: [TextKey: Value], _ context: StatementContext,
    _ make: @escaping RowReader<Element>.Make
  ) throws(DunlinError) -> RowReader<Element> {
    let engine = core.engine
    return try core.rowReaders.begin(on: engine, within: context, make) { context, body in
      try engine.store.read { transaction in
        let deadline = transaction.deadline
        try engine.forEachRow(
          of: .select(select), arguments: arguments, in: transaction, context: context
        ) { try body($0, deadline) }
      }
    }
  }
}
