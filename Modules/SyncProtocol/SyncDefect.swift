import Failpoints

/// Deliberate defects in sync that the simulator must detect.
package enum SyncDefect: UInt8, Failpoint {
  /// A peer does not report that it cannot read all of its store.
  case unreadableNotTold = 96
  /// A restored store keeps its site id.
  case siteNotRenewed
  /// The changes of a run are applied without checking their base or their result.
  case runUnchecked
  /// Documents of a transaction are stored before it is known whether the rest fits.
  case groupStoredInParts
  /// The segments of a large transaction become visible one by one.
  case componentPublishedInParts
  /// An announced change is not requested when no other session delivers it.
  case announcementForgotten
  /// A change of the gate's answers does not cause a re-evaluation of what may flow.
  case policyChangeIgnored
  /// Outgoing data does not pass the gate.
  case gateNotAsked
  /// A document that a peer evicts under a subscription is not requested again.
  case evictionNotAnswered
  /// A sender's request to reconcile again is ignored.
  case renewIgnored
  /// Offers of a sender are not requested.
  case offersIgnored
  /// Data received from a peer is not forwarded.
  case notForwarded
  /// Writes made during a reconciliation are not sent.
  case commitMissedInRound
  /// The last state of a document that leaves a query is not sent.
  case leaveNotTold
  /// Documents of one transaction are sent one by one.
  case groupSentInParts
  /// A sender keeps using the first interest that it received.
  case interestKept
  /// Applied data is not acknowledged.
  case acknowledgementLost
  /// Quiet links are not kept alive.
  case pingNotSent
  /// A peer with compacted tombstones does not ask what others hold.
  case certificatesNotAskedFor
  /// Different contents of one version are joined instead of repaired.
  case repairSkipped
  /// Data that the other peer lacks is not sent back.
  case debtForgotten
  /// A transaction that lacks its base is not requested in another form.
  case missingBaseIgnored
  /// A checkpoint is stored although requested data has not arrived.
  case cursorAhead
  /// A high-water mark is sent although the data before it has not been sent.
  case markAhead
  /// Writes since a checkpoint are pushed eagerly without the rest of their closure.
  case unaskedInParts
  /// Local writes since a checkpoint are not reported to the peer that could answer them.
  case ownLogNotTold
  /// A checkpoint stays valid after the sender's policy has changed.
  case policyPrintForgotten
  /// Documents evicted since a checkpoint are not requested again.
  case evictionsForgotten
  /// A wrong checksum of a frame is ignored.
  case checksumIgnored
  /// Duplicate, late and missing frames go undetected.
  case framesNotNumbered
  /// Changes wait for a slow link without a bound.
  case queueNotDropped
  /// A document that left a subscription is evicted although no other peer keeps it.
  case lettingGoUnasked
  /// A document that left a subscription is never evicted.
  case leftStays
  /// Documents that were sent together are not bound to each other while the receiver may still reject them.
  case sentBindsNothing
  /// Ids above the bound are forgotten, both those that wait for a filter and those that were reported.
  case noticesForgotten
  /// The checking side does not look up new documents in what the leader has reported.
  case noticesNotChecked
  /// When a filter arrives after a reconciliation, only new documents are looked up in it.
  case heldNotLookedAt
  /// A leading sender does not report documents that cease to match.
  case leaverNotOffered
  /// A filter has only half of its ids.
  case filterDenies
  /// A notice is processed before the transactions that came before it are applied.
  case noticeReadEarly
  /// What a peer reports is judged against what has been sent by now, and not against what it had applied.
  case judgedByNow
  /// A transaction is acknowledged before what it lacks is requested.
  case acknowledgedBeforeAsking
  /// A checkpoint passes what was refused, is withheld or cannot be read.
  case checkpointPassesLacking
  /// A reconciliation is settled before the receiver has sent its last question.
  case settledBeforeAsked
}
