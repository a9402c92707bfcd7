import Failpoints

/// Coverage points that a simulator campaign must reach while peers sync.
package enum SyncPoint: UInt8, CoveragePoint {
  /// A run of similar changes was merged.
  case runMerged = 16
  /// A run of similar changes did not fit, and its changes were requested one by one.
  case runLeftOut
  /// A document with the same version and different content was repaired.
  case repaired
  /// Two clones met.
  case twinMet
  /// A store learned of later writes of its own site than it has.
  case laterSelfMet
  /// A transaction was left out because one of its documents does not fit the local state.
  case groupLeftOut
  /// A segmented transaction became visible.
  case stagedPublished
  /// An operation delta was left out because the local state is not its base.
  case successorLeftOut
  /// An announced change was requested immediately.
  case pulledAtOnce
  /// An announced change was requested after another peer had not delivered it.
  case pulledLate
  /// An announced change was requested in vain.
  case announcementLost
  /// Writes since a receiver's checkpoint were pushed eagerly.
  case sentUnasked
  /// A received document needed no answer: data in flight makes the peer converge.
  case metInMotion
  /// A receiver resumed from its checkpoint.
  case cursorFollowed
  /// A checkpoint no longer matched the sender's log or its policy.
  case cursorRefused
  /// A sender no longer knew the interest of a returning receiver.
  case interestRepeated
  /// Changes came faster than the link, and were announced from the log.
  case fellBehind
  /// A large transfer was deferred while another peer delivered one.
  case bulkPostponed
  /// Forwarded data was a duplicate, and PRUNE switched it to lazy push.
  case prunedForwards
  /// The peer's own writes were duplicates, and PRUNE switched them to lazy push.
  case prunedOwn
  /// A chunk was packed densely, since the link is slow.
  case packedDensely
  /// Chunks were stored uncompressed on trial, since the compressor held back the link.
  case storedOnTrial
  /// A chunk was stored uncompressed, since both ends are on one machine.
  case storedLocally
  /// A large transaction arrived in chunks.
  case cameInChunks
  /// A large transaction resumed where an earlier link had broken.
  case transferResumed
  /// A segmented transaction reused segments from an earlier link.
  case partsReused
  /// A document that had left a subscription was evicted.
  case letGo
  /// A receiver reported what it holds, so that the sender only has to check.
  case receiverLeads
  /// A sender reported what it holds and does not send, so that the receiver only has to check.
  case senderLeads
  /// A filter was refused, as it costs more than the other side's notices.
  case filterRefused
  /// All held documents were looked up in a filter.
  case lookedAtAll
  /// More ids waited for a filter than are kept individually.
  case noticesOverflowed
}
