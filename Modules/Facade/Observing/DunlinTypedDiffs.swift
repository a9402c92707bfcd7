import CRDTCore
import QueryEngine

/// A query's result as a type of the application, and its exact difference from the previous result.
public struct DunlinTypedDiff<Item: Sendable>: Sendable {
  /// Whether this is the first result: everything in it is an insertion.
  public let isInitial: Bool
  /// The result.
  public let items: [Item]
  /// The previous result.
  public let oldItems: [Item]
  /// Indexes in the new items.
  public let insertions: [Int]
  /// Indexes in the old items.
  public let deletions: [Int]
  /// Indexes in the new items of items that were in the previous result and have changed.
  public let updates: [Int]
  /// Items that have another place among those that stayed.
  public let moves: [DunlinLiveQueryMove]
}

/// The changes of a query's result as a type of the application, for `for try await`.
///
/// It behaves like ``DunlinDiffs``. It decodes only rows that are new or have changed. A row that does not
/// fit ends the loop with `decoding`: to skip such rows, iterate over ``DunlinDiffs`` and decode item by
/// item.
public struct DunlinTypedDiffs<Item: Decodable & Sendable>: AsyncSequence, Sendable {
  public typealias Failure = DunlinError

  private let diffs: DunlinDiffs

  init(_ diffs: DunlinDiffs) { self.diffs = diffs }

  public func makeAsyncIterator() -> Iterator { Iterator(diffs: diffs.makeAsyncIterator()) }

  public struct Iterator: AsyncIteratorProtocol {
    public typealias Failure = DunlinError

    fileprivate var diffs: DunlinDiffs.Iterator?
    private var items: [Item] = []

    fileprivate init(diffs: DunlinDiffs.Iterator) { self.diffs = diffs }

    /// Waits for the next result; `nil` when the task is cancelled or the database is closed.
    ///
    /// - Throws: `decoding` with the path of the value that does not fit, and `runtime` for a damaged
    ///   document. The observation has then ended.
    public mutating func next() async throws(DunlinError) -> DunlinTypedDiff<Item>? {
      guard let diff = await diffs?.next() else { return nil }
      do throws(DunlinError) {
        let old = items
        items = try diff.diff.applied(to: old, Self.decode)
        return DunlinTypedDiff(
          isInitial: diff.isInitial, items: items, oldItems: old, insertions: diff.insertions,
          deletions: diff.deletions, updates: diff.updates, moves: diff.moves)
      } catch {
        diffs = nil
        throw error
      }
    }

    private static func decode(_ row: Row) throws(DunlinError) -> Item {
      let fields: [TextKey: Value]
      do {
        fields = try row.values()
      } catch {
        throw DunlinError(error)
      }
      return try ValueDecoding.decode(Item.self, from: .map(fields))
    }
  }
}
