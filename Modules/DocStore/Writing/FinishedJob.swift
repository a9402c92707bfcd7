/// A transaction that ran to its end and waits for its commit.
struct FinishedJob {
  var sequence: UInt64 = 0
  var commitID: UInt64 = 0
  var evictionEpoch: UInt64 = 0
  var origin: Origin
  /// In the order of the first touch; a document appears once a group.
  var changes: [Change] = []
  let names: CommitNames
  /// Whether the changes have the records before and after.
  var isCaptured: Bool
  var oversize: [OversizeDocument] = []

  var receipt: CommitReceipt { CommitReceipt(sequence: sequence, id: commitID, oversize: oversize) }
  var isEmpty: Bool { sequence == 0 }

  /// The commit that listeners get, once it is durable; its changes go by `catalogue` from now on.
  func commit(_ catalogue: Catalogue) -> Commit {
    names.tell(catalogue.collections, catalogue.sites)
    return Commit(
      sequence: sequence, id: commitID, origin: origin, changes: changes, evictionEpoch: evictionEpoch)
  }
}
