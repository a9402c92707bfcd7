import CRDTCore
import QueryEngine

/// A query's result, and its exact difference from the previous result.
///
/// The items are made when they are first read. A reader that uses only the indexes pays for the changes, and
/// not for the whole result.
public struct DunlinDiff: Sendable {
  /// Whether this is the first result: everything in it is an insertion.
  public let isInitial: Bool
  /// The result.
  ///
  /// - Complexity: O(*n*) the first time.
  public var items: [DunlinQueryResultItem] { result.items }
  /// The previous result.
  ///
  /// - Complexity: O(*n*) the first time, unless it was already read as the current result.
  public var oldItems: [DunlinQueryResultItem] { oldResult.items }
  /// Indexes in the new items.
  public var insertions: [Int] { diff.insertions }
  /// Indexes in the old items.
  public var deletions: [Int] { diff.deletions }
  /// Indexes in the new items of items that were in the previous result and have changed.
  public var updates: [Int] { diff.updates }
  /// Items that have another place among those that stayed.
  public let moves: [DunlinLiveQueryMove]

  /// The items as the query engine's rows.
  var rows: RowList<Row> { result.rows }

  /// The items as documents, for a query that selects whole documents.
  var documents: [DunlinDocument] { result.documents }
  var oldDocuments: [DunlinDocument] { oldResult.documents }

  let diff: ResultDiff
  private let result: ObservedResult
  private let oldResult: ObservedResult

  init(_ diff: ResultDiff, from oldResult: ObservedResult, to result: ObservedResult, isInitial: Bool) {
    self.isInitial = isInitial
    self.result = result
    self.oldResult = oldResult
    self.diff = diff
    moves = diff.moves.map { DunlinLiveQueryMove(from: $0.from, to: $0.to) }
  }
}

/// The changes of a query's result, for `for await`.
///
/// Each iteration has its own observation and starts with the present result. A slow reader gets the newest
/// result with its exact difference from the last one that it got. The sequence ends when the task is
/// cancelled or the database closes. Leaving the loop ends the observation.
public struct DunlinDiffs: AsyncSequence, Sendable {
  public typealias Failure = Never

  private let statement: Statement
  private let arguments: [TextKey: Value]
  private let core: Core

  init(_ statement: Statement, _ arguments: [TextKey: Value], _ core: Core) {
    self.statement = statement
    self.arguments = arguments
    self.core = core
  }

  public func makeAsyncIterator() -> Iterator {
    // The query was checked before; the only remaining error is a database that was closed.
    Iterator(core.reporter.orReport("changes", nil) { try core.observers.observe(statement, arguments) })
  }

  public struct Iterator: AsyncIteratorProtocol {
    /// Ends the observation when the iterator is released.
    private final class Ending {
      let observation: QueryObservation
      init(_ observation: QueryObservation) { self.observation = observation }
      deinit { observation.cancel() }
    }

    private let ending: Ending?

    fileprivate init(_ observation: QueryObservation?) { ending = observation.map(Ending.init) }

    public mutating func next() async -> DunlinDiff? { await ending?.observation.next()?.diff }
  }
}
