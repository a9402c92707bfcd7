public import CRDTCore
package import DocStore
import QueryEngine

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
}
