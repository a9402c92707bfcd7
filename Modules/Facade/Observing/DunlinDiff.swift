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

  /// Where the rows come from.
  var origin: RowOrigin { result.origin }

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
