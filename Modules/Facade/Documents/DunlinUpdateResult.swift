/// What an update closure did at one path of a document.
public enum DunlinUpdateResult: Hashable, Sendable {
  case set(docID: DunlinDocumentID, path: String)
  case removed(docID: DunlinDocumentID, path: String)
  case replacedWithCounter(docID: DunlinDocumentID, path: String)
  case incremented(docID: DunlinDocumentID, path: String, amount: Int)
  case restarted(docID: DunlinDocumentID, path: String)

  /// The id of the document.
  public var docID: DunlinDocumentID {
    switch self {
    case .set(let id, _), .removed(let id, _), .replacedWithCounter(let id, _), .restarted(let id, _),
      .incremented(let id, _, _):
      id
    }
  }

  /// The keys on the way to the place, joined with periods.
  public var path: String {
    switch self {
    case .set(_, let path), .removed(_, let path), .replacedWithCounter(_, let path), .restarted(_, let path),
      .incremented(_, let path, _):
      path
    }
  }
}
