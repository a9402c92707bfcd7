/// For callers that decide when a store works: event loops, and tests that end it between two steps.
extension Store {
  /// Checks the next pages, as the scrub does in the background.
  ///
  /// - Returns: Whether all pages have been checked since a call last returned `true`.
  package func scrub() throws -> Bool { try housekeeping.scrub() }

  /// Advances queued transactions to `stage`, in a store that is driven by hand.
  ///
  /// That is the batch in progress. If there is none, it is a new batch of all waiting transactions.
  ///
  /// - Returns: `false` when there was nothing to do; also when called inside a body, a listener or a
  ///   completion.
  @discardableResult
  package func step(upTo stage: CommitStage) -> Bool {
    precondition(options.drive == .manual, "Only a store that is driven by hand is carried on by steps")
    return writer.step(upTo: stage)
  }

  /// Does the store's periodic work, in a store that is driven by hand.
  package func housekeep() {
    precondition(options.drive == .manual, "Only a store that is driven by hand is kept by hand")
    guard !writer.isCurrentThread else { return }
    housekeeping.keep()
  }

  /// Ends the store as if its process had been killed now.
  ///
  /// Whatever is not durable is lost. Nothing is saved for the next session, and no listener or completion is
  /// called.
  ///
  /// The files are free to be opened again once the snapshots that are still open have ended.
  package func crash() {
    guard process.isHere else { return }
    housekeeping.stop()
    writer.crash()
    housekeeping.join()
    forgetEnvironment()
  }
}
