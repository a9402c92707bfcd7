import QueryEngine

/// What an observer is told at once: a result, and how it came from the one before.
struct Delivery: Sendable {
  var isInitial: Bool
  var diff: DunlinDiff

  var documents: [DunlinDocument] { diff.items.compactMap(DunlinDocument.init(item:)) }
  var oldDocuments: [DunlinDocument] { diff.oldItems.compactMap(DunlinDocument.init(item:)) }

  var event: DunlinLiveQueryEvent {
    if isInitial { return .initial }
    return .update(
      DunlinLiveQueryUpdate(
        oldDocuments: oldDocuments, insertions: diff.insertions, deletions: diff.deletions,
        updates: diff.updates, moves: diff.moves))
  }
}

extension ResultDiff {
  /// The previous items as the new ones; only what came or changed is decoded.
  func applied(to items: [DunlinQueryResultItem]) throws -> [DunlinQueryResultItem] {
    let gone = Set(deletions).union(moves.map(\.from))
    var arriving: [(at: Int, item: DunlinQueryResultItem)] = []
    for (index, row) in zip(insertions, insertedRows) {
      arriving.append((index, try DunlinQueryResultItem(row: row)))
    }
    arriving += moves.map { ($0.to, items[$0.from]) }
    arriving.sort { $0.at < $1.at }
    var next = arriving.startIndex
    var result: [DunlinQueryResultItem] = []
    result.reserveCapacity(items.count + insertions.count)
    for index in items.indices where !gone.contains(index) {
      while next < arriving.endIndex, arriving[next].at == result.count {
        result.append(arriving[next].item)
        next += 1
      }
      result.append(items[index])
    }
    result += arriving[next...].map(\.item)
    for (index, row) in zip(updates, updatedRows) { result[index] = try DunlinQueryResultItem(row: row) }
    return result
  }
}
