/// A delivery to an observer: a result, and how it differs from the one before.
struct Delivery: Sendable {
  let diff: DunlinDiff

  var isInitial: Bool { diff.isInitial }

  var documents: [DunlinDocument] { diff.documents }
  var oldDocuments: [DunlinDocument] { diff.oldDocuments }

  var event: DunlinLiveQueryEvent {
    if isInitial { return .initial }
    return .update(
      DunlinLiveQueryUpdate(
        oldDocuments: oldDocuments, insertions: diff.insertions, deletions: diff.deletions,
        updates: diff.updates, moves: diff.moves))
  }
}
