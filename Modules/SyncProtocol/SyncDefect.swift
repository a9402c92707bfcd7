import Failpoints

/// Deliberate mistakes in how peers sync, which the simulator must find.
package enum SyncDefect: UInt8, Failpoint {
  /// A peer does not tell the other one that it cannot read all of its store.
  case unreadableNotTold = 96
  /// A store that was put back goes on under the site it had.
  case siteNotRenewed
  /// A run's changes are taken in whatever they were made on, and whatever they come to.
  case runUnchecked
  /// Documents of a group are stored before it is known whether those after them fit.
  case groupStoredInParts
  /// Parts of a large group become visible one by one.
  case componentPublishedInParts
  /// What was announced is not asked for when it does not come from elsewhere.
  case announcementForgotten
  /// A change of the gate's answers does not lead to another look at what may flow.
  case policyChangeIgnored
  /// What leaves does not pass the gate.
  case gateNotAsked
  /// What a peer evicts under a subscription is not asked for again.
  case evictionNotAnswered
  /// A sender's call to compare anew is passed over.
  case renewIgnored
  /// What a sender offers is not asked for.
  case offersIgnored
  /// What came from a peer is not sent on.
  case notForwarded
  /// What is written while peers compare is not sent.
  case commitMissedInRound
  /// A document that leaves a query is not sent in its last state.
  case leaveNotTold
  /// Documents of one transaction are sent one by one.
  case groupSentInParts
  /// A sender goes on with the first subscriptions that it heard of.
  case interestKept
  /// What was applied is not acknowledged.
  case acknowledgementLost
  /// Quiet links are not kept alive.
  case pingNotSent
  /// A peer that has death certificates does not ask what others hold.
  case certificatesNotAskedFor
  /// Two contents of one version are joined, not settled.
  case repairSkipped
  /// What the other peer lacks is not sent back.
  case debtForgotten
  /// A group that does not fit is not asked for in another form.
  case missingBaseIgnored
  /// A cursor is written although what was asked for is not here.
  case cursorAhead
  /// A mark is set although what it speaks of has not gone out.
  case markAhead
  /// What was written since a cursor is sent unasked without what belongs to it.
  case unaskedInParts
  /// What was written here since a cursor is not told to who could answer it.
  case ownLogNotTold
  /// A cursor holds whatever the sender's policy has become.
  case policyPrintForgotten
  /// What was evicted since a cursor is not asked for again.
  case evictionsForgotten
  /// What is wrong with a frame's checksum is passed over.
  case checksumIgnored
  /// A frame that comes twice, late or not at all is not noticed.
  case framesNotNumbered
  /// Changes wait for a slow link without end.
  case queueNotDropped
  /// What left a subscription is let go of though nobody else keeps it.
  case lettingGoUnasked
  /// What left a subscription is never let go of.
  case leftStays
  /// What went out together binds nothing while the receiver may yet leave it out.
  case sentBindsNothing
  /// What waits for a filter beyond the bound is forgotten, and so is what was told beyond it.
  case noticesForgotten
  /// Who leaves telling to the other side does not look whether that side told of what is new.
  case noticesNotChecked
  /// When a filter comes after a comparison, only what is new since is looked up in it.
  case heldNotLookedAt
  /// A sender that tells does not tell what ceases to match.
  case leaverNotOffered
  /// A filter has half of its ids.
  case filterDenies
}
