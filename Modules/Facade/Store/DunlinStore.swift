package import CRDTCore
package import DocStore
package import QueryEngine

/// The documents of a database.
public struct DunlinStore: Sendable {
  let local: LocalDatabase

  /// A collection, which need not exist yet.
  public func collection(_ name: String) -> DunlinCollection { DunlinCollection(name: name, local: local) }

  /// A collection, which need not exist yet.
  public subscript(name: String) -> DunlinCollection { collection(name) }

  /// The names of all collections that were ever written on this device, sorted.
  ///
  /// - Throws: `closed`, `io`.
  public func collectionNames() throws -> [String] {
    try translatingErrors { try local.store.read { try $0.collections().map(\.name) } }
  }

  /// All collections that were ever written on this device, by name.
  ///
  /// - Throws: `closed`, `io`.
  public func collections() throws -> [DunlinCollection] { try collectionNames().map(collection) }
}

extension DunlinStore {
  /// The underlying store, for the project's own tools.
  package var database: Store { local.store }

  /// The engine that executes statements, for the project's own tools.
  package var engine: Engine { local.engine }

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
    try local.rowReaders.begin(prepared, arguments, within: context, make)
  }

  /// Does the same for a query that has no text.
  package func beginRows<Element>(
    _ select: Select, _ arguments: [TextKey: Value], _ context: StatementContext,
    _ make: @escaping RowReader<Element>.Make
  ) throws(DunlinError) -> RowReader<Element> {
    try local.rowReaders.begin(select, arguments, within: context, make)
  }
}
