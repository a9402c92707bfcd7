import DocStore

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
