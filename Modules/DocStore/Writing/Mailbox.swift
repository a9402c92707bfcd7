import CRDTCore

/// The queue of statements of an asynchronous transaction, which the writer's thread executes.
final class Mailbox: Sendable {
  typealias Statement = (Result<WriteTransaction, StoreError>) -> Void

  /// A result that a task waits for and another thread sets, once.
  final class Outcome: Sendable {
    private enum State {
      case empty
      case waiting(CheckedContinuation<CommitReceipt, any Error>)
      case done(Job.Outcome)
    }

    private let state = Monitor(State.empty)

    func set(_ outcome: Job.Outcome) {
      let waiting = state.withLock { state -> CheckedContinuation<CommitReceipt, any Error>? in
        defer { state = .done(outcome) }
        if case .waiting(let continuation) = state { return continuation }
        return nil
      }
      waiting?.resume(with: outcome)
    }

    func value() async throws -> CommitReceipt {
      try await withCheckedThrowingContinuation { continuation in
        let outcome = state.withLock { state -> Job.Outcome? in
          if case .done(let outcome) = state { return outcome }
          state = .waiting(continuation)
          return nil
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    }
  }

  private enum Ending { case commit, rollback, abort(StoreError) }

  private struct State {
    var statements: [Statement] = []
    var ending: Ending?
    /// Why no further statements are accepted.
    var isOver: StoreError?
  }

  /// Thrown by the job when the body threw; the caller gets the body's own error.
  private struct RolledBack: Error {}

  private let state = Monitor(State())
  private let start = Outcome()
  private let outcome = Outcome()
  private let deadline: Duration

  init(deadline: Duration) { self.deadline = deadline }

  /// The job that occupies the writer's thread for this transaction.
  func makeJob(_ origin: Origin, hint: String?, options: StoreOptions) -> Job {
    let interaction = Interaction { [weak self] in self?.abort($0) }
    return Job(origin, hint: hint, options, interaction: interaction) { transaction in
      self.start.set(.success(CommitReceipt()))
      try self.serve(transaction, hint)
    } completion: { outcome in
      // If the job never ran, this informs those who wait for its start; otherwise nobody waits for that.
      if case .failure = outcome { self.start.set(outcome) }
      self.outcome.set(outcome)
    }
  }

  /// Runs statements until the body ends or sends none within the deadline.
  private func serve(_ transaction: WriteTransaction, _ hint: String?) throws {
    while true {
      enum Next { case statement(Statement), end(Ending) }
      let next = state.wait(for: deadline) { state -> Next? in
        if case .abort? = state.ending { return state.ending.map { .end($0) } }
        if !state.statements.isEmpty { return .statement(state.statements.removeFirst()) }
        return state.ending.map { .end($0) }
      }
      switch next {
      case .statement(let statement): statement(.success(transaction))
      case .end(.commit):
        return close(with: StoreError(.closed, "The transaction is over", operation: "write"))
      case .end(.rollback):
        close(with: StoreError(.closed, "The transaction is over", operation: "write"))
        throw RolledBack()
      case .end(.abort(let error)):
        close(with: error)
        throw error
      case nil:
        let name = hint.map { " '\($0.prefix(Job.hintLimit))'" } ?? ""
        let error = StoreError(
          .deadline, "The transaction\(name) was idle for \(deadline.text) and was rolled back",
          operation: "write")
        close(with: error)
        throw error
      }
    }
  }

  /// Refuses waiting statements and all later ones.
  private func close(with error: StoreError) {
    let refused = state.withLock { state in
      state.isOver = error
      defer { state.statements = [] }
      return state.statements
    }
    for statement in refused { statement(.failure(error)) }
  }

  func post(_ statement: @escaping Statement) {
    let refusal = state.withLock(wake: true) { state -> StoreError? in
      if state.isOver == nil { state.statements.append(statement) }
      return state.isOver
    }
    if let refusal { statement(.failure(refusal)) }
  }

  /// Rolls the transaction back before its next statement.
  private func abort(_ error: StoreError) {
    state.withLock(wake: true) { state in
      if state.ending == nil { state.ending = .abort(error) }
    }
  }

  func started() async throws { _ = try await start.value() }

  /// Ends the transaction and waits for its commit.
  func end(committing: Bool) async throws -> CommitReceipt {
    state.withLock(wake: true) { state in
      if case .abort? = state.ending { return }
      state.ending = committing ? .commit : .rollback
    }
    return try await outcome.value()
  }
}
