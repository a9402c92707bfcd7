package import CRDTCore

/// Who has the last word in each transaction, and may add to it what is to be true together with it.
final class LastWords: Sendable {
  typealias Body = @Sendable (WriteTransaction) throws -> Void

  private struct State {
    var nextID: UInt64 = 1
    var bodies: [(id: UInt64, body: Body)] = []
  }

  private let state = Monitor(State())

  var isEmpty: Bool { state.withLock { $0.bodies.isEmpty } }

  func add(_ body: @escaping Body) -> CommitListener {
    let id = state.withLock { state in
      defer { state.nextID += 1 }
      state.bodies.append((state.nextID, body))
      return state.nextID
    }
    return CommitListener { self.state.withLock { $0.bodies.removeAll { $0.id == id } } }
  }

  /// Calls each, in the order of registration, without holding the lock.
  func call(_ transaction: WriteTransaction) throws {
    for (_, body) in state.withLock({ $0.bodies }) { try body(transaction) }
  }
}

extension Store {
  /// Has `body` run at the end of every transaction, as a part of it: what it throws undoes the transaction.
  ///
  /// It runs on the writer's thread, must be quick, and hears of what the transaction changed by asking for
  /// ``WriteTransaction/pendingChanges``. What it registers ends as a listener to commits does.
  package func atEndOfTransactions(
    _ body: @escaping @Sendable (WriteTransaction) throws -> Void
  ) -> CommitListener {
    writer.lastWords.add(body)
  }
}

extension WriteTransaction {
  /// What this transaction has changed so far; nothing where nobody listened as it began.
  ///
  /// A document that it changed in several groups appears once for each.
  package var pendingChanges: [Change] {
    guard isCapturing else { return [] }
    withState { names.tell($0.collections.map(\.collection), $0.sites) }
    return changes.changes
  }

  /// The sequence of a document's last change, in this transaction or before.
  ///
  /// - Returns: `nil` when the document is unknown here.
  package func lastChange(of id: DocumentID, in collection: Collection) throws -> UInt64? {
    try reading { try $0.withRecord(collection.id, named: collection.name, id) { $0.sequence } }
  }
}
