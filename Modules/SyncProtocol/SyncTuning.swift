/// Numbers that shape how a session behaves, but not what it accepts; tests and simulations draw others.
package struct SyncTuning: Hashable, Sendable {
  /// Records that one call of a session visits.
  package var recordsPerCall = 32_768
  /// Plain bytes that one call of a session packs.
  package var bytesPerCall = 512 << 10
  /// Records that one call visits on a thread which must not wait.
  package var recordsPerPromptCall = 2_048
  /// Plain bytes that one call packs on such a thread.
  package var bytesPerPromptCall = 64 << 10
  /// Ranges that a receiver has asked about and not heard of.
  package var rangesInFlight = 256
  /// Plain bytes that a receiver offers to take while some wait to be applied.
  package var creditBytes = SyncLimits.creditBytes
  /// Plain bytes that one transaction of a receiver applies, beside one group.
  package var applyBytes = 4 << 20
  /// Documents that one transaction of a receiver applies, beside one group.
  package var applyDocuments = 4_000
  /// Bytes of records that one transaction of a receiver reads and writes, beside one group.
  package var applyRecordBytes = 2 << 20
  /// Documents whose eviction is answered one by one; more are found by reconciliation.
  package var evictedDocuments = 1_000
  /// Bytes of encoded large groups that wait for their turn, beside one.
  package var waitingBytes = 16 << 20
  /// A group that takes longer than this is sent so that another link can go on with it.
  package var slowTransferSpan = Duration.seconds(1)
  /// The compressor has to have held a link back for this long before pieces are stored on trial.
  package var packingPatience = Duration.milliseconds(100)
  /// Plain bytes from which on what came of a large group is kept when the link breaks.
  package var leastStagedBytes = 4 << 10
  /// How often the store is given what has come of a large group.
  package var stagingSpan = Duration.seconds(1)
  /// Plain bytes from which on a sender cuts a group in parts.
  package var splitBytes = 8 << 20
  /// Documents from which on a sender cuts a group in parts; at most ``SyncLimits/groupDocuments``.
  package var splitDocuments = SyncLimits.groupDocuments
  /// Runs of documents that earlier transactions bind together, before older transactions are forgotten.
  package var groupRuns = 1 << 20
  /// Bytes of both records of a change for which the shortest form is tried.
  package var successorRecordBytes = 128 << 10
  /// Documents that are written at both ends, before all are forgotten to be.
  package var contendedDocuments = 4_096
  /// Documents on their way in answers of which it is known how the peer comes to have them.
  package var documentsUnderWay = 16_384
  /// Documents to be looked at once all that was sent before is there.
  package var waitingOffers = 1 << 16
  /// Documents that a peer told of and this one watches, before it watches all.
  package var watchedDocuments = 1 << 18
  /// Documents that a sender has announced and the receiver is not done with; more are sent.
  package var announcedDocuments = 16_384
  /// Documents that a receiver tells of one by one when it resumes, or an eighth of those that it asks for; more are found by
  /// comparing.
  package var notices = 4_096
  /// Commits of a sender after which a receiver that follows compares all again.
  package var doubtfulCommits: UInt64 = 1 << 20
  /// Documents that changed since a receiver's cursor, beyond which it is to compare.
  package var walkedDocuments = 1 << 16
  /// Documents of transactions that left a receiver's interest since its cursor, beyond which it is to compare.
  package var leavingDocuments = 256
  /// Notices before the other side is asked to tell, beside what its filter costs.
  package var freeNotices: UInt64 = 64
  /// Ids of notices that are kept one by one, in each direction; more are folded into a filter, or all is looked at.
  package var exactNotices = 4_096
  /// A filter is good for four times as many lookups as documents are held, or as this.
  package var leastLookups: UInt64 = 64
  /// The most bits of a filter for each id.
  package var filterBits: UInt64 = 64

  package init() {}
}
