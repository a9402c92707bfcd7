package import DocStore
package import DunlinFeed
package import QueryEngine
package import Transports

/// The parts of an open database that are modules of their own.
///
/// The big peer and the project's own tools work on them directly. The parts close with the database.
package struct DunlinParts: Sendable {
  /// The documents.
  package let store: Store
  /// Executes statements on the store.
  package let engine: Engine
  /// The threads that read rows for callers that take them one by one.
  package let rows: RowReaders
  /// The connections with other peers, and the progress of sync over them.
  package let network: PeerNetwork
  /// The readers of the store's changes.
  package let feeds: FeedHub
  /// The wall clock, in milliseconds since 1970.
  package let wallClock: @Sendable () -> UInt64
}

extension Dunlin {
  /// The parts of this database that are modules of their own.
  package var parts: DunlinParts {
    DunlinParts(
      store: core.local.store, engine: core.local.engine, rows: core.local.rowReaders,
      network: core.sync.network, feeds: core.feeds, wallClock: core.wallClock)
  }
}
