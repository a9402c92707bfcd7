package import CRDTCore

/// What is called before each transaction commits, and may add to it what is to be true together with it.
typealias PreCommitHooks = Registrations<@Sendable (WriteTransaction) throws -> Void>

/// Who has registered for something, in the order in which they did.
final class Registrations<Body: Sendable>: Sendable {
  private struct State {
    var nextID: UInt64 = 1
    var bodies: [(id: UInt64, body: Body)] = []
  }

  private let state = Monitor(State())

  var isEmpty: Bool { state.withLock { $0.bodies.isEmpty } }

  /// All of them, to be called without holding the lock.
  var all: [Body] { state.withLock { $0.bodies.map(\.body) } }

  func add(_ body: Body) -> CommitListener {
    let id = state.withLock { state in
      defer { state.nextID += 1 }
      state.bodies.append((state.nextID, body))
      return state.nextID
    }
    return CommitListener { self.state.withLock { $0.bodies.removeAll { $0.id == id } } }
  }
}

extension Store {
  /// Has `body` run before every transaction commits, as a part of it: what it throws undoes the transaction.
  ///
  /// It runs on the writer's thread, must be quick, and hears of what the transaction changed by asking for
  /// ``WriteTransaction/pendingChanges``. What it registers ends as a listener to commits does.
  package func beforeCommit(
    _ body: @escaping @Sendable (WriteTransaction) throws -> Void
  ) -> CommitListener {
    writer.preCommitHooks.add(body)
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
