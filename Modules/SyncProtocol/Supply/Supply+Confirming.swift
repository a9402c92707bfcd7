extension Supply {
  /// Tells the desk up to which commit the peer has everything that concerns it, when that is certain.
  ///
  /// Once certain it stays so, until the peer's interest or what it may be sent changes.
  func noteConfirmed() {
    let leaves = context.shared.leaves
    guard generation != nil, leaves.isInUse else { return }
    guard !interest.isEmpty else { return leaves.note(context.id, confirmed: .max) }
    guard hasSettled, !isRoundActive, settledAfter == nil, !isAwaitingRound, requests.isEmpty, isDrained,
      !log.isAnnouncing, log.closing == nil
    else { return }
    leaves.note(context.id, confirmed: max(settledSequence, lastCommitted, 1))
  }
}
