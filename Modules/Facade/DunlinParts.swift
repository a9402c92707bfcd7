package import DocStore
package import DunlinFeed
package import QueryEngine

/// The parts of an open database that are modules of their own.
///
/// The big peer and the project's own tools work on them directly. The parts close with the database.
package struct DunlinParts: Sendable {
  /// The documents.
  package let store: Store
  /// Executes statements on the store.
  package let engine: Engine
  /// The readers of the store's changes.
  package let feeds: FeedHub
  /// The wall clock, in milliseconds since 1970.
  package let wallClock: @Sendable () -> UInt64
}

extension Dunlin {
  /// The parts of this database that are modules of their own.
  package var parts: DunlinParts {
    DunlinParts(
      store: core.local.store, engine: core.local.engine, feeds: core.feeds, wallClock: core.wallClock)
  }
}
