import QueryEngine
import Synchronization

/// A query's result as an observer is shown it; its items are made once, when somebody asks.
final class ObservedResult: Sendable {
  private enum Items {
    case unmade
    /// To be made from those of the result before, which somebody asked for.
    case following([DunlinQueryResultItem], ResultDiff)
    case made([DunlinQueryResultItem])
  }

  let rows: RowList<Row>
  private let state: Mutex<Items>

  /// A result without rows.
  init() {
    rows = RowList()
    state = Mutex(.made([]))
  }

  /// The result that comes of another one by a diff.
  init(_ rows: RowList<Row>, following former: ObservedResult, by diff: ResultDiff) {
    self.rows = rows
    state = Mutex(former.madeItems.map { .following($0, diff) } ?? .unmade)
  }

  private var madeItems: [DunlinQueryResultItem]? {
    state.withLock { state in
      switch state {
      case .made(let items): items
      case .unmade, .following: nil
      }
    }
  }

  var items: [DunlinQueryResultItem] {
    state.withLock { state in
      let items =
        switch state {
        case .made(let items): items
        case .following(let former, let diff): diff.applied(to: former)
        case .unmade: rows.map { DunlinQueryResultItem(observed: $0) }
        }
      state = .made(items)
      return items
    }
  }
}

extension ResultDiff {
  /// The previous items as the new ones; only what came or changed is decoded.
  fileprivate func applied(to items: [DunlinQueryResultItem]) -> [DunlinQueryResultItem] {
    let gone = Set(deletions).union(moves.map(\.from))
    var arriving: [(at: Int, item: DunlinQueryResultItem)] = []
    for (index, row) in zip(insertions, insertedRows) {
      arriving.append((index, DunlinQueryResultItem(observed: row)))
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
    for (index, row) in zip(updates, updatedRows) { result[index] = DunlinQueryResultItem(observed: row) }
    return result
  }
}
