import CRDTCore
import DocStore

/// Checks documents as a store does, and keeps none of them.
///
/// Each batch is written in a transaction that is rolled back, of an empty store that is removed at the end.
struct TrialSink: DocumentSink {
  private let path: String
  private let store: Store

  /// Rolls a transaction back.
  private struct Rollback: Error {}

  init() throws {
    let path = try TemporaryStore.make("dunlin-import")
    do {
      store = try Store.open(at: path, options: .tool)
    } catch {
      TemporaryStore.remove(path)
      throw error
    }
    self.path = path
  }

  func insert(_ batch: DocumentBatch, into collection: String, strategy: WriteStrategy) async throws {
    do {
      try await store.write { transaction throws -> Void in
        try StoreSink.upsert(batch, into: collection, strategy: strategy, transaction)
        throw Rollback()
      }
    } catch is Rollback {
      // Every document of the batch could be written.
    }
  }

  func close() throws {
    store.close()
    TemporaryStore.remove(path)
  }
}
