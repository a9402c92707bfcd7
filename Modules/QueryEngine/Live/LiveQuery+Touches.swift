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
  mutating func touches(of commit: Commit) -> [Touch] {
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
    return ids.compactMap { id in
      guard let change = changes[id] else { return nil }
      let oldKeys = change.before.flatMap { keys(of: $0, id) }
      let newKeys = change.after.flatMap { keys(of: $0, id) }
      guard oldKeys != nil || newKeys != nil else { return nil }
      let newRow = newKeys == nil ? nil : change.after.map { Row(id, $0, decoder) }
      return Touch(id: id, oldKeys: oldKeys, newKeys: newKeys, newRow: newRow)
    }
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
