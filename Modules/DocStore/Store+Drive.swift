/// For those who decide themselves when a store does what: event loops, and tests that kill it in between.
extension Store {
  /// Looks at the next pages, as the scrub does in the background.
  ///
  /// - Returns: Whether all were looked at since the last time that it returned so.
  package func scrub() throws -> Bool { try housekeeping.scrub() }

  /// Carries what is queued on to `stage`, in a store that is driven by hand: the batch of transactions that is
  /// under way, else the next one, which is all that waits.
  ///
  /// - Returns: `false` when there was nothing to do, also inside a body, a listener or a completion.
  @discardableResult
  package func step(upTo stage: CommitStage) -> Bool {
    precondition(options.drive == .manual, "Only a store that is driven by hand is carried on by steps")
    return writer.step(upTo: stage)
  }

  /// Does what the store does of its own accord from time to time, in a store that is driven by hand.
  package func housekeep() {
    precondition(options.drive == .manual, "Only a store that is driven by hand is kept by hand")
    guard !writer.isCurrentThread else { return }
    housekeeping.keep()
  }

  /// Ends the store as if its process had been killed now: what is not durable is lost, nothing is noted down
  /// for the next session, and nobody is told anything.
  ///
  /// The files are free for the next one when the snapshots that are still being read have ended.
  package func crash() {
    guard process.isHere else { return }
    housekeeping.stop()
    writer.crash()
    housekeeping.join()
    forgetEnvironment()
  }
}
