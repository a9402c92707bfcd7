import DocStore
import Synchronization

/// What the store has staged and need not keep; the next write removes it.
final class StagingGarbage: Sendable {
  struct Item: Sendable {
    let id: StagingID
    /// The first piece to be removed.
    let first: UInt32

    func forget(in write: WriteTransaction) throws {
      try write.unstage(id, chunks: first...UInt32.max)
    }
  }

  private let items = Mutex<[Item]>([])

  func add(_ id: StagingID) { items.withLock { $0.append(Item(id: id, first: 0)) } }

  /// Adds the segments of a large transaction from a number on.
  func add(_ id: StagingID, from segment: UInt64) {
    items.withLock { $0.append(Item(id: id, first: StagedSegments.firstChunk(of: segment))) }
  }

  func removeAll() -> [Item] {
    items.withLock { items in
      defer { items = [] }
      return items
    }
  }
}
