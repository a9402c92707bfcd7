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
  /// The rows that do not fit, which are in no items; empty with `.fail`.
  public let unfit: [DunlinUnfitRow]
}

/// The changes of a query's result as a type of the application, for `for try await`.
///
/// It behaves like ``DunlinDiffs``. It decodes only rows that are new or have changed. A row that does not
/// fit ends the loop with `decoding`, unless such rows are left out: see ``DunlinUnfitRows``.
public struct DunlinTypedDiffs<Item: Decodable & Sendable>: AsyncSequence, Sendable {
  public typealias Failure = DunlinError

  private let diffs: DunlinDiffs
  private let unfit: DunlinUnfitRows

  init(_ diffs: DunlinDiffs, unfit: DunlinUnfitRows) { (self.diffs, self.unfit) = (diffs, unfit) }

  public func makeAsyncIterator() -> Iterator {
    Iterator(diffs: diffs.makeAsyncIterator(), endsWithUnfit: unfit == .fail)
  }

  public struct Iterator: AsyncIteratorProtocol {
    public typealias Failure = DunlinError

    fileprivate var diffs: DunlinDiffs.Iterator?
    private let endsWithUnfit: Bool
    private var slots = TypedSlots<Item>()

    fileprivate init(diffs: DunlinDiffs.Iterator, endsWithUnfit: Bool) {
      (self.diffs, self.endsWithUnfit) = (diffs, endsWithUnfit)
    }

    /// Waits for the next result; `nil` when the task is cancelled or the database is closed.
    ///
    /// - Throws: `decoding` with the collection, the document, the type and the path of the value that does
    ///   not fit, and `runtime` for a damaged document. The observation has then ended.
    public mutating func next() async throws(DunlinError) -> DunlinTypedDiff<Item>? {
      guard let diff = await diffs?.next() else { return nil }
      do throws(DunlinError) {
        let typed = try slots.apply(diff)
        if endsWithUnfit, let first = typed.unfit.first { throw first.error }
        return typed
      } catch {
        diffs = nil
        throw error
      }
    }
  }
}
