import CRDTCore

/// What a running transaction did to one document, before it is known whether it lasts.
struct ChangeDraft {
  let key: DocumentKey
  /// The document's number, once it is stored.
  var number: DocumentNumber
  let group: Int
  var sequence: UInt64
  var kind: Change.Kind
  /// Copied only when somebody listens to commits.
  var before: Record?
  var beforeSummary: Summary?
  var after: Record?
  var afterSummary: Summary?
  var isOversize = false
}

/// A transaction that ran to its end and waits for its commit.
struct FinishedJob {
  var sequence: UInt64 = 0
  var commitID: UInt64 = 0
  var evictionEpoch: UInt64 = 0
  var origin: Origin
  var drafts: [ChangeDraft] = []
  /// Whether the drafts have the records before and after.
  var isCaptured: Bool
  var oversize: [OversizeDocument] = []

  var receipt: CommitReceipt { CommitReceipt(sequence: sequence, id: commitID, oversize: oversize) }
  var isEmpty: Bool { sequence == 0 }

  /// The commit that listeners get.
  func commit(_ catalogue: Catalogue) -> Commit {
    let changes = drafts.compactMap { draft in
      catalogue.collection(draft.key.collection).map { collection in
        Change(
          collection: collection, id: draft.key.id, kind: draft.kind, sequence: draft.sequence,
          before: draft.before,
          after: draft.after, beforeSummary: draft.beforeSummary, afterSummary: draft.afterSummary,
          sites: catalogue.sites, group: draft.group, oversize: draft.isOversize)
      }
    }
    return Commit(
      sequence: sequence, id: commitID, origin: origin, changes: changes, evictionEpoch: evictionEpoch)
  }
}
