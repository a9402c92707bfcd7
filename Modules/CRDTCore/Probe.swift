/// Points at which a simulation looks into the code: where it can plant a defect, and what it must have reached.
///
/// Alive in debug builds and with the package trait `Simulation`; otherwise constants that the compiler removes.
/// What is planted counts for one task only, so that tests beside each other do not meet.
package enum Probe {
  /// Deliberate mistakes, each of which the simulator must find.
  ///
  /// Nothing plants one outside of tests.
  package enum Defect: String, CaseIterable, Sendable {
    /// A damaged record is sent as it stands.
    case damagedRecordSent
    /// A peer does not tell the other one that it cannot read all of its store.
    case unreadableNotTold
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
    /// A change is applied to whatever stands there, and whatever it comes to.
    case successorNotChecked
    /// What the other peer lacks is not sent back.
    case debtForgotten
    /// A group that does not fit is not asked for in another form.
    case missingBaseIgnored
    /// With the record of a deletion that is evicted its certificate goes, too.
    case evictedDeletionForgotten
    /// Commits are told before they are durable.
    case toldBeforeDurable
    /// Observers do not follow what comes from peers.
    case observerMissesMerges
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
    /// The life of a merged document is the one that came last.
    case lifeTakenBlindly
    /// Writes are stamped by the wall clock alone.
    case wallClockAlone
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
    /// Of the fields that are written to a document that is there, the last one is not.
    case fieldNotWritten
  }

  /// What a campaign must have reached at least once, or it has proved less than it seems.
  package enum Point: String, CaseIterable, Sendable {
    /// A run of alike changes was merged.
    case runMerged
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
    /// A deletion was evicted, and left a certificate.
    case deletionCertified
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

  #if DEBUG || SIMULATION
    /// What is planted and counted in one task.
    // SAFETY: `defects` never changes; `reached` is written by the one thread that simulates, and read after it.
    package final class Plan: @unchecked Sendable {
      package let defects: Set<Defect>
      package let queryDefects: Set<QueryDefect>
      /// How often each point was reached.
      package var reached: [Point: Int] = [:]

      package init(defects: Set<Defect> = [], queryDefects: Set<QueryDefect> = []) {
        self.defects = defects
        self.queryDefects = queryDefects
      }
    }

    @TaskLocal package static var plan: Plan?

    /// Whether a defect is planted here.
    package static func defect(_ defect: Defect) -> Bool { plan?.defects.contains(defect) ?? false }

    /// Whether a defect of a query's execution is planted here.
    package static func defect(_ defect: QueryDefect) -> Bool { plan?.queryDefects.contains(defect) ?? false }

    /// Counts that a point was reached.
    package static func reached(_ point: Point) { plan?.reached[point, default: 0] += 1 }
  #else
    @inline(__always)
    package static func defect(_ defect: Defect) -> Bool { false }

    @inline(__always)
    package static func defect(_ defect: QueryDefect) -> Bool { false }

    @inline(__always)
    package static func reached(_ point: Point) {}
  #endif
}
