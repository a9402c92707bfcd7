public import CRDTCore
package import DocStore
package import QueryEngine

/// How an upsert treats an existing document.
///
/// One of `.merge`, `.insertIfAbsent`, `.insertDefaultIfAbsent` and `.updateDifferentValues`.
public typealias DunlinWriteStrategy = WriteStrategy

/// The documents of a database.
public struct DunlinStore: Sendable {
  let core: Core

  /// A collection, which need not exist yet.
  public func collection(_ name: String) -> DunlinCollection { DunlinCollection(name: name, core: core) }

  /// A collection, which need not exist yet.
  public subscript(name: String) -> DunlinCollection { collection(name) }

  /// The names of all collections that were ever written on this device, sorted.
  ///
  /// - Throws: `closed`, `io`.
  public func collectionNames() throws -> [String] {
    try translatingErrors { try core.store.read { try $0.collections().map(\.name) } }
  }

  /// All collections that were ever written on this device, by name.
  ///
  /// - Throws: `closed`, `io`.
  public func collections() throws -> [DunlinCollection] { try collectionNames().map(collection) }
}

extension DunlinStore {
  /// The underlying store, for the project's own tools.
  package var database: Store { core.store }

  /// The engine that executes statements, for the project's own tools.
  package var engine: Engine { core.engine }

  /// Begins to read the rows of a query on a thread of its own, only as fast as the caller takes them.
  ///
  /// - Parameters:
  ///   - prepared: A statement that changes nothing.
  ///   - arguments: The values of its parameters.
  ///   - context: Limits how long the statement may run.
  ///   - make: Turns a row into the element that is returned; it runs on that thread.
  /// - Returns: The rows. A caller that wants no more of them must stop the reader.
  /// - Throws: `limit` when the maximum number of results is being read; `noMemory`, `closed`.
  package func beginRows<Element>(
    _ prepared: PreparedStatement, _ arguments: [TextKey: Value], _ context: StatementContext,
    _ make: @escaping RowReader<Element>.Make
  ) throws(DunlinError) -> RowReader<Element> {
    try core.rowReaders.begin(prepared, arguments, on: core.engine, within: context, make)
  }

  /// Does the same for a query that has no text.
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
