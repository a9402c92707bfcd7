/// Jobs that share one commit of the engine, from their first statement until their callers are informed.
final class CommitBatch {
  let environment: Environment
  /// The writer's state before the batch.
  let old: StoreState
  /// For listeners that are added while the jobs run.
  let previous: PreviousSnapshot?
  let access: PageAccess
  var finished: [(job: Job, outcome: FinishedJob)] = []
  /// The stage that the batch has reached.
  var stage = CommitStage.executed
  private var transaction: LMDBTransaction?

  init(_ environment: Environment, before old: StoreState) throws(StoreError) {
    previous = PreviousSnapshot(environment)
    let transaction = try LMDBTransaction(environment)
    access = transaction.access
    self.transaction = consume transaction
    self.environment = environment
    self.old = old
  }

  deinit {
    // Before the environment is released.
    _ = transaction.take()
  }

  /// Whether there is anything to commit.
  var changesAnything: Bool { finished.contains { !$0.outcome.isEmpty } }

  /// Makes what the jobs wrote durable.
  func commit() throws(StoreError) { try transaction.take()?.commit() }
}
