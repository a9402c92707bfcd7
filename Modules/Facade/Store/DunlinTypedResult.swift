import DocStore
import QueryEngine

/// The result of a statement, with its rows as a type of the application.
///
/// ```swift
/// let result = try await store.execute(query: "SELECT * FROM cars", as: Car.self, unfit: .leaveOut)
/// for row in result.unfit { print(row.documentID, row.error) }
/// ```
public struct DunlinTypedResult<Item> {
  /// The rows that fit the type.
  public let items: [Item]
  /// The rows that do not fit, which are in no items; empty with `.fail`, which throws instead.
  public let unfit: [DunlinUnfitRow]
  /// The documents that the statement wrote or evicted, in that order.
  public let mutatedDocumentIDs: [DunlinDocumentID]
  /// The position in this store's log of the commit that the statement made.
  ///
  /// `nil` for reads, and inside a transaction, which commits later.
  public let commitID: UInt64?
  /// Documents that the statement wrote and that are too large for a peer that has nothing of them.
  public let oversizeDocumentIDs: [DunlinDocumentID]
  /// Possible mistakes in the statement, such as a field that no document of the collection has.
  public let hints: [String]

  init(_ items: [Item], unfit: [DunlinUnfitRow], _ result: QueryResult) {
    self.items = items
    self.unfit = unfit
    hints = result.hints
    mutatedDocumentIDs = result.mutatedDocumentIDs.map { DunlinDocumentID($0) }
    commitID = result.commit.flatMap { $0.place }
    oversizeDocumentIDs = result.commit?.oversize.map { DunlinDocumentID($0.id) } ?? []
  }
}

extension DunlinTypedResult: Sendable where Item: Sendable {}
