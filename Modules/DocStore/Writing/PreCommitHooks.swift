package import CRDTCore

/// Functions that run before each transaction commits, and may write to it.
typealias PreCommitHooks = Registrations<@Sendable (WriteTransaction) throws -> Void>

/// Registered callbacks, in the order of their registration.
final class Registrations<Body: Sendable>: Sendable {
  private struct State {
    var nextID: UInt64 = 1
    var bodies: [(id: UInt64, body: Body)] = []
  }

  private let state = Monitor(State())

  var isEmpty: Bool { state.withLock { $0.bodies.isEmpty } }

  /// All callbacks; call them without holding the lock.
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
  /// Runs `body` in every transaction before it commits; an error that it throws undoes the transaction.
  ///
  /// `body` runs on the writer's thread and must be quick. ``WriteTransaction/pendingChanges`` contains the
  /// changes of the transaction. The registration ends when the returned listener is released.
  package func beforeCommit(
    _ body: @escaping @Sendable (WriteTransaction) throws -> Void
  ) -> CommitListener {
    writer.preCommitHooks.add(body)
  }
}

extension WriteTransaction {
  /// The changes of this transaction so far; empty if no hook or listener was registered when it began.
  ///
  /// A document that changed in several groups appears once for each group.
  package var pendingChanges: [Change] {
    guard isCapturing else { return [] }
    withState { names.tell($0.collections.map(\.collection), $0.sites) }
    return changes.changes
  }

  /// Returns the sequence of a document's last change, in this transaction or before it.
  ///
  /// - Returns: `nil` when the document is unknown here.
  package func lastChange(of id: DocumentID, in collection: Collection) throws -> UInt64? {
    try reading { try $0.withRecord(collection.id, named: collection.name, id) { $0.sequence } }
  }
}
