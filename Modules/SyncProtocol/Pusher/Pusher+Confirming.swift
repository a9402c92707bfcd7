extension Pusher {
  /// The commit up to which the peer has all that concerns it; `nil` while a document is withheld.
  var confirmedSequence: UInt64? { context.withheld.isEmpty ? holding.confirmed : nil }

  /// Records up to which commit the peer has everything that concerns it, if that is certain.
  ///
  /// Once certain it stays so, until the peer's interest or what it may be sent changes.
  func noteConfirmed() {
    let leaves = context.shared.leaves
    guard generation != nil || subscribed.isNothing else { return }
    guard !interest.isEmpty else {
      if leaves.isInUse { leaves.note(context.id, confirmed: .max) }
      return
    }
    guard !context.unreadable.isAnywhere else {
      if holding.confirmed != nil, leaves.isInUse { leaves.note(context.id, confirmed: 0) }
      return holding.confirm(nil)
    }
    // The batch that is being applied may show that the peer lacks something.
    guard holding.isSettled, context.isPolicyCurrent, !isApplying, !reconciliation.isActive,
      !reconciliation.isClosing,
      requests.isEmpty, isDrained, !log.isAnnouncing
    else { return }
    let sequence = max(log.settled, lastCommitted, 1)
    holding.confirm(sequence)
    // Withheld documents do not prevent others from being evicted here.
    if leaves.isInUse { leaves.note(context.id, confirmed: sequence) }
  }
}
