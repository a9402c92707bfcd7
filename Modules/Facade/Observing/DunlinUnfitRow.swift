/// What an observation does with rows that do not fit the caller's type.
///
/// A newer version of an application may write what an older one has no case or field for.
public enum DunlinUnfitRows: Hashable, Sendable {
  /// The loop throws `decoding` with the document and the path, and has ended.
  case fail
  /// The rows are left out of the items and handed over beside them; the loop goes on.
  case leaveOut
}

/// A row of a result that does not fit the caller's type.
public struct DunlinUnfitRow: Sendable {
  /// The row's field `_id`, if it has one that is an id.
  public let documentID: DunlinDocumentID?
  /// Why it does not fit: `decoding` with the path of the value.
  public let error: DunlinError
}
