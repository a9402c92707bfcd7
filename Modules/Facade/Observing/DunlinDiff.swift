import CRDTCore
import QueryEngine

/// A query's result, and how it came from the one before, exactly.
public struct DunlinDiff: Sendable {
  /// Whether this is the first result: everything in it is an insertion.
  public internal(set) var isInitial = false
  /// The result.
  public internal(set) var items: [DunlinQueryResultItem] = []
  /// The result before.
  public internal(set) var oldItems: [DunlinQueryResultItem] = []
  /// Indexes in the new items.
  public internal(set) var insertions: [Int] = []
  /// Indexes in the old items.
  public internal(set) var deletions: [Int] = []
  /// Indexes in the new items of those that were there and have changed.
  public internal(set) var updates: [Int] = []
  /// Items that stand elsewhere among those that stayed.
  public internal(set) var moves: [DunlinLiveQueryMove] = []
}

/// The changes of a query's result, for `for await`.
///
/// Each iteration observes on its own and begins with the result as it is. Whoever is slow gets the newest
/// result with the exact difference from what they got before. It ends when the task is cancelled or the
/// database closes; leaving the loop ends the observation.
public struct DunlinDiffs: AsyncSequence, Sendable {
  public typealias Failure = Never

  private let select: Select
  private let arguments: [String: Value]
  private let core: Core

  init(_ select: Select, _ arguments: [String: Value], _ core: Core) {
    self.select = select
    self.arguments = arguments
    self.core = core
  }

  public func makeAsyncIterator() -> Iterator {
    // The query was checked before; what is left is a database that was closed.
    Iterator(core.reporter.orReport("changes", nil) { try core.observers.observe(select, arguments) })
  }

  public struct Iterator: AsyncIteratorProtocol {
    /// Ends the observation when the iterator is let go of.
    private final class Ending {
      let observation: Observation
      init(_ observation: Observation) { self.observation = observation }
      deinit { observation.cancel() }
    }

    private let ending: Ending?

    fileprivate init(_ observation: Observation?) { ending = observation.map(Ending.init) }

    public mutating func next() async -> DunlinDiff? { await ending?.observation.next()?.diff }
  }
}
