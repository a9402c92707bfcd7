/// A transaction whose body has run, and which waits for its commit.
struct FinishedJob {
  var sequence: UInt64 = 0
  var commitID: UInt64 = 0
  var evictionEpoch: UInt64 = 0
  var origin: Origin
  /// In the order of the first touch; a document appears once for each group.
  var changes: [Change] = []
  let names: CommitNames
  /// Whether the changes contain the records before and after.
  var isCaptured: Bool
  var oversize: [OversizeDocument] = []
  /// Whether the log's position must be saved.
  var changesLog = false

  var receipt: CommitReceipt { CommitReceipt(sequence: sequence, id: commitID, oversize: oversize) }
  var isEmpty: Bool { sequence == 0 }

  /// The commit for listeners, once it is durable; its changes use `catalogue` from now on.
  func commit(_ catalogue: Catalogue) -> Commit {
    names.tell(catalogue.collections, catalogue.sites)
    return Commit(
      sequence: sequence, id: commitID, origin: origin, changes: changes, evictionEpoch: evictionEpoch)
  }
}
