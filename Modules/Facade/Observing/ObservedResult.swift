import QueryEngine
import Synchronization

/// A query's result for an observer.
///
/// The items and documents for its rows are made once, when they are first read.
final class ObservedResult: Sendable {
  private struct Shown {
    var items = ShownRows<DunlinQueryResultItem>.unmade
    var documents = ShownRows<DunlinDocument>.unmade
  }

  let rows: RowList<Row>
  let origin: RowOrigin
  private let shown: Mutex<Shown>

  /// A result without rows.
  init(_ origin: RowOrigin) {
    rows = RowList()
    self.origin = origin
    shown = Mutex(Shown(items: .made([]), documents: .made([])))
  }

  /// Makes the result that follows another one by a diff.
  init(_ rows: RowList<Row>, following former: ObservedResult, by diff: ResultDiff) {
    self.rows = rows
    origin = former.origin
    shown = Mutex(
      former.shown.withLock { former in
        Shown(items: former.items.followed(by: diff), documents: former.documents.followed(by: diff))
      })
  }

  var items: [DunlinQueryResultItem] {
    shown.withLock { $0.items.all(rows) { DunlinQueryResultItem(observed: $0, origin) } }
  }

  /// The documents of the rows; only for a query that selects whole documents.
  var documents: [DunlinDocument] {
    shown.withLock { $0.documents.all(rows) { DunlinDocument(observed: $0, origin) } }
  }
}

/// The items or documents for the rows of a result.
private enum ShownRows<Element: Sendable> {
  case unmade
  /// To be made from those of the previous result, which were read.
  case following([Element], ResultDiff)
  case made([Element])

  /// The elements of the next result.
  func followed(by diff: ResultDiff) -> Self {
    switch self {
    case .made(let elements): .following(elements, diff)
    case .unmade, .following: .unmade
    }
  }

  mutating func all(_ rows: RowList<Row>, _ make: (Row) -> Element) -> [Element] {
    let elements =
      switch self {
      case .made(let elements): elements
      case .following(let former, let diff): diff.applied(to: former, make)
      case .unmade: rows.map(make)
      }
    self = .made(elements)
    return elements
  }
}

extension ResultDiff {
  /// The elements of the next result; makes only those that are new or have changed.
  func applied<Element, Failure: Error>(
    to elements: [Element], _ make: (Row) throws(Failure) -> Element
  ) throws(Failure) -> [Element] {
    var result = try moving(elements, make)
    for (index, row) in zip(updates, updatedRows) { result[index] = try make(row) }
    return result
  }

  /// Says where the rows of this result were in the previous one.
  ///
  /// - Parameter count: The number of rows of the previous result.
  /// - Returns: The former index of each row; `nil` for those that are new.
  func origins(of count: Int) -> [Int?] { moving(Array(0..<count).map(Optional.some)) { _ in nil } }

  private func moving<Element, Failure: Error>(
    _ elements: [Element], _ make: (Row) throws(Failure) -> Element
  ) throws(Failure) -> [Element] {
    guard !(deletions.isEmpty && moves.isEmpty && insertions.isEmpty) else { return elements }
    let gone = Set(deletions).union(moves.map(\.from))
    var arriving: [(at: Int, element: Element)] = []
    for (index, row) in zip(insertions, insertedRows) { arriving.append((index, try make(row))) }
    arriving += moves.map { (at: $0.to, element: elements[$0.from]) }
    arriving.sort { $0.at < $1.at }
    var next = arriving.startIndex
    var result: [Element] = []
    result.reserveCapacity(elements.count + insertions.count)
    for index in elements.indices where !gone.contains(index) {
      while next < arriving.endIndex, arriving[next].at == result.count {
        result.append(arriving[next].element)
        next += 1
      }
      result.append(elements[index])
    }
    result += arriving[next...].map(\.element)
    return result
  }
}
