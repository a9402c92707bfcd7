import CRDTCore

/// What a typed read or observation does with rows that do not fit the caller's type.
///
/// A newer version of an application may write what an older one has no case or field for.
public enum DunlinUnfitRows: Hashable, Sendable {
  /// The call or the loop throws `decoding` with the collection, the document and the path.
  case fail
  /// The rows are left out of the items and handed over beside them; a loop goes on.
  case leaveOut
}

/// A row of a result that does not fit the caller's type.
public struct DunlinUnfitRow: Sendable {
  /// The row's document, or its field `_id`, if it has one that is an id.
  public let documentID: DunlinDocumentID?
  /// Why it does not fit: `decoding` with the collection, the document, the type and the path.
  public let error: DunlinError

  init(_ fields: [TextKey: Value], _ id: DocumentID?, _ error: DunlinError) {
    documentID = (id ?? ValueDecoding.id(in: fields)).map { DunlinDocumentID($0) }
    self.error = error
  }
}
