import Failpoints

/// What a campaign of the simulator must have met while peers synced.
package enum SyncPoint: UInt8, CoveragePoint {
  /// A run of alike changes was merged.
  case runMerged = 16
  /// A run of alike changes did not fit, and was asked for one by one.
  case runLeftOut
  /// Two peers disagreed about a document whose names agree, and compared again.
  case repaired
  /// Two stores of one site met.
  case twinMet
  /// A store learned of later writes of its own site than it has.
  case laterSelfMet
  /// A group was left out because one of its documents does not fit what is here.
  case groupLeftOut
  /// A group that came in parts became visible.
  case stagedPublished
  /// A change was left out because it was made on another state than stands here.
  case successorLeftOut
  /// An announced change was asked for when it was announced.
  case pulledAtOnce
  /// An announced change was asked for after another peer had not brought it.
  case pulledLate
  /// An announced change was asked for in vain.
  case announcementLost
  /// What was written since a receiver's cursor was sent unasked.
  case sentUnasked
  /// What a peer brought needed no answer, for what went to it meanwhile lets it come to the same.
  case metUnderWay
  /// A receiver went on from its cursor.
  case cursorFollowed
  /// A cursor no longer fitted the sender's log or its policy.
  case cursorRefused
  /// A sender no longer knew what a returning receiver is interested in.
  case interestRepeated
  /// Changes came faster than the link, and were announced from the log.
  case fellBehind
  /// Much was not asked of a peer while another one brought it.
  case bulkPostponed
  /// What a peer forwards was known: it announces again.
  case prunedForwards
  /// What a peer writes itself was known: it announces that too.
  case prunedOwn
  /// A piece was packed densely, since the link is slow.
  case packedDensely
  /// Pieces were stored on trial, since the compressor held the link back.
  case storedOnTrial
  /// A piece was stored, since both ends are on one machine.
  case storedLocally
  /// A large group came in chunks.
  case cameInChunks
  /// A large group went on where an earlier link had broken.
  case transferResumed
  /// A large group in parts went on with parts that an earlier link had brought.
  case partsReused
  /// A document that had left a subscription was let go of.
  case letGo
  /// A receiver told what it holds, so that the sender need only check.
  case receiverLeads
  /// A sender told what it holds and does not send, so that the receiver need only check.
  case senderLeads
  /// A filter was not made, as it costs more than the other side had told.
  case filterRefused
  /// All that is held was looked up in a filter.
  case lookedAtAll
  /// More waited for a filter than is kept by name.
  case noticesOverflowed
}
