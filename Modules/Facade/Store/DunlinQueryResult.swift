public import CRDTCore
import DocStore
public import Foundation
import QueryEngine

/// The result of a statement.
public struct DunlinQueryResult: Sendable {
  /// The rows of a SELECT or SHOW.
  public let items: [DunlinQueryResultItem]
  /// The documents that the statement wrote or evicted, in that order.
  public let mutatedDocumentIDs: [DunlinDocumentID]
  /// The position in this store's log of the commit that the statement made.
  ///
  /// Later commits have greater numbers. `nil` for reads, and inside a transaction.
  ///
  /// `dunlin.sync.waitUntilArrived(_:at:timeout:)` waits until a peer has the commit. A peer has it once
  /// `documents.synced_up_to_local_commit_id` in `system:data_sync_info` is at least this number.
  public let commitID: UInt64?
  /// Documents that the statement wrote and that are too large for a peer that has nothing of them.
  ///
  /// Such a peer gets none of them. A peer that has an earlier state gets the changes.
  public let oversizeDocumentIDs: [DunlinDocumentID]
  /// Possible mistakes in the statement, such as a field that no document of the collection has.
  public let hints: [String]

  init(_ answer: Answer) throws {
    let result = answer.result
    hints = result.hints
    items = try result.rows.map { try DunlinQueryResultItem(row: $0, answer.origin) }
    mutatedDocumentIDs = result.mutatedDocumentIDs.map { DunlinDocumentID($0) }
    commitID = result.commit.flatMap { $0.sequence > 0 ? $0.sequence : nil }
    oversizeDocumentIDs = result.commit?.oversize.map { DunlinDocumentID($0.id) } ?? []
  }

  /// The rows as a type of the application's.
  ///
  /// - Throws: `decoding` with the collection, the document, the row, counted from 0, the type, and the path
  ///   that does not fit.
  public func decoded<T: Decodable>(as type: T.Type = T.self) throws(DunlinError) -> [T] {
    var decoded: [T] = []
    decoded.reserveCapacity(items.count)
    for (row, item) in items.enumerated() {
      decoded.append(try item.decoded(as: type, row: row))
    }
    return decoded
  }

  init(items: [DunlinQueryResultItem]) {
    self.items = items
    mutatedDocumentIDs = []
    commitID = nil
    oversizeDocumentIDs = []
    hints = []
  }
}

/// One row of a result: a document, or a projection of it.
public struct DunlinQueryResultItem: Sendable {
  let documentID: DocumentID?
  package let fields: [TextKey: Value]
  let origin: RowOrigin

  init(row: Row, _ origin: RowOrigin) throws {
    documentID = row.id
    fields = try row.values()
    self.origin = origin
  }

  /// A row that was read earlier; a row whose document is damaged in the store shows no columns.
  init(observed row: Row, _ origin: RowOrigin) {
    documentID = row.id
    do { fields = try row.values() } catch { fields = [:] }
    self.origin = origin
  }

  /// The document of the row; `nil` where the row is not one document, such as a count.
  ///
  /// It is also `nil` for a row whose columns do not include `_id`.
  public var id: DunlinDocumentID? { documentID.map { DunlinDocumentID($0) } }

  /// The columns by name; a missing column has no entry, a null is `nil`.
  public var value: [String: Any?] { fields.byString }

  /// The columns, with keys that are distinguished by their bytes.
  ///
  /// Two keys can be the same text to `String` and still have different bytes.
  public var exactValue: [TextKey: Any?] { fields.mapValues(\.any) }

  /// The value in a column; the column may be missing.
  public subscript(column: String) -> DunlinDocumentPath {
    DunlinDocumentPath(fields[column], of: .init(id: documentID, origin: origin))
  }

  /// The row as JSON, compact and with sorted keys; bytes are `{"$bytes": base64}`.
  public func jsonString() -> String { JSON.text(of: .map(fields)) }

  /// The row as the UTF-8 of its JSON.
  public func jsonData() -> Data { Data(jsonString().utf8) }

  /// The row as a type of the application's.
  ///
  /// - Throws: `decoding` with the collection, the document, the type, and the path that does not fit.
  public func decoded<T: Decodable>(as type: T.Type = T.self) throws(DunlinError) -> T {
    try decoded(as: type, row: nil)
  }

  fileprivate func decoded<T: Decodable>(as type: T.Type, row: Int?) throws(DunlinError) -> T {
    try ValueDecoding.decode(type, from: fields, of: documentID, row: row, origin)
  }
}

extension DunlinDocument {
  /// The document of a row of a query for whole documents; a damaged document shows no fields.
  init(observed row: Row, _ origin: RowOrigin) {
    guard let id = row.id else { preconditionFailure("A row of a query for whole documents stands for none") }
    self.init(id: id, fields: DunlinQueryResultItem(observed: row, origin).fields, origin)
  }
}
