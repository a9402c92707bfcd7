/// The exact changes from one result of a live query to the next.
///
/// To apply them to the previous rows, remove `deletions` and the rows that move. Then insert the insertions
/// and the moved rows at their new indexes, from front to back. Then replace the updated rows.
public struct ResultDiff: Sendable {
  /// A row whose position among the rows that stayed has changed.
  public struct Move: Hashable, Sendable {
    /// Its index in the previous result.
    public let from: Int
    /// Its index in the new result.
    public let to: Int

    public init(from: Int, to: Int) {
      self.from = from
      self.to = to
    }
  }

  /// Indexes in the new result, ascending.
  public internal(set) var insertions: [Int] = []
  /// Indexes in the previous result, ascending.
  public internal(set) var deletions: [Int] = []
  /// Indexes in the new result of rows with changed values, ascending; these rows may also move.
  public internal(set) var updates: [Int] = []
  /// In the order of their new indexes.
  public internal(set) var moves: [Move] = []
  /// The rows at `insertions`.
  public internal(set) var insertedRows: [Row] = []
  /// The rows that were at `deletions`.
  public internal(set) var deletedRows: [Row] = []
  /// The rows at `updates`, as they are now.
  public internal(set) var updatedRows: [Row] = []
  /// The rows at `updates`, as they were.
  public internal(set) var replacedRows: [Row] = []

  init() {}

  package var isEmpty: Bool { insertions.isEmpty && deletions.isEmpty && updates.isEmpty && moves.isEmpty }

  /// Turns the previous result into the new one.
  ///
  /// - Parameter rows: The result from which the diff was made.
  /// - Complexity: O(*n*) in the rows of both results.
  public func apply(to rows: inout [Row]) {
    let gone = Set(deletions).union(moves.map(\.from))
    var arriving = insertions.indices.map { (at: insertions[$0], row: insertedRows[$0]) }
    arriving += moves.map { (at: $0.to, row: rows[$0.from]) }
    arriving.sort { $0.at < $1.at }
    var next = arriving.startIndex
    var result: [Row] = []
    result.reserveCapacity(rows.count + insertions.count)
    for index in rows.indices where !gone.contains(index) {
      while next < arriving.endIndex, arriving[next].at == result.count {
        result.append(arriving[next].row)
        next += 1
      }
      result.append(rows[index])
    }
    result += arriving[next...].map(\.row)
    for (index, row) in zip(updates, updatedRows) { result[index] = row }
    rows = result
  }
}
