import CRDTCore
import DocStore

/// What a commit did to one document, as far as a live query cares.
struct Touch {
  let id: DocumentID
  /// What the document is sorted by, before and after; `nil` where it does not match the query.
  let oldKeys: [Value?]?
  let newKeys: [Value?]?
  /// The document's row after the commit; `nil` where it does not match.
  let newRow: Row?
}

extension LiveQuery {
  /// The touched documents that match the query before or after the commit, each once.
  ///
  /// - Throws: What a column's expression throws on a document.
  mutating func touches(of commit: Commit) throws(QueryError) -> [Touch] {
    var changes: [DocumentID: (before: Record?, after: Record?)] = [:]
    var ids: [DocumentID] = []
    for change in commit.changes where change.collection.name == plan.collection {
      resolve(change.collection.keys)
      if changes[change.id] == nil {
        ids.append(change.id)
        changes[change.id] = (change.before, change.after)
      } else {
        changes[change.id]?.after = change.after
      }
    }
    var touches: [Touch] = []
    for id in ids {
      guard let change = changes[id] else { continue }
      let oldKeys = change.before.flatMap { keys(of: $0, id) }
      var newKeys: [Value?]?
      var newRow: Row?
      if let after = change.after, let keys = keys(of: after, id) {
        newKeys = keys
        newRow = try projector.row(id, after)
      }
      guard oldKeys != nil || newKeys != nil else { continue }
      touches.append(Touch(id: id, oldKeys: oldKeys, newKeys: newKeys, newRow: newRow))
    }
    return touches
  }

  /// A document's sort keys; `nil` when it does not match.
  private func keys(of record: Record, _ id: DocumentID) -> [Value?]? {
    record.withView { view in
      let bytes = id.bytes.span.bytes
      guard view.isAlive, matcher.matches(bytes, view) else { return nil }
      var values: [Value?] = []
      do { try order.read(bytes, view, keys, into: &values) } catch { return nil }
      return values
    }
  }
}
