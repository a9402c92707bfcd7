/// Parameters of how a session behaves, but not of what it accepts; tests and simulations vary them.
package struct SyncTuning: Hashable, Sendable {
  /// What one call does at most.
  package struct Calls: Hashable, Sendable {
    /// Records that one call visits.
    package var records = 32_768
    /// Plain bytes that one call packs.
    package var bytes = 512 << 10
    /// Records that one call visits on a thread that must not block.
    package var promptRecords = 2_048
    /// Plain bytes that one call packs on such a thread.
    package var promptBytes = 64 << 10

    package init() {}
  }

  /// What a receiver applies in one transaction, and what it lets come meanwhile.
  package struct Applying: Hashable, Sendable {
    /// The credit in plain bytes that a receiver grants while data waits to be applied.
    package var creditBytes = SyncLimits.creditBytes
    /// Plain bytes that a receiver applies in one transaction, besides one of the peer's transactions.
    package var bytes = 4 << 20
    /// Documents that a receiver applies in one transaction, besides one of the peer's transactions.
    package var documents = 4_000
    /// Bytes of records that a receiver reads and writes in one transaction.
    ///
    /// One of the peer's transactions may exceed this.
    package var recordBytes = 2 << 20

    package init() {}
  }

  /// Large transactions.
  package struct Transfers: Hashable, Sendable {
    /// Bytes of encoded large transactions that wait to be sent, besides one.
    package var waitingBytes = 16 << 20
    /// A transaction that takes longer than this is sent so that another link can resume it.
    package var slowSpan = Duration.seconds(1)
    /// How long the compressor must hold back a link before chunks are stored uncompressed on trial.
    package var packingPatience = Duration.milliseconds(100)
    /// Plain bytes above which the received chunks of a large transaction are kept when the link breaks.
    package var leastStagedBytes = 4 << 10
    /// How often received chunks of a large transaction are staged in the store.
    package var stagingSpan = Duration.seconds(1)
    /// Plain bytes above which a sender splits a transaction into segments.
    package var splitBytes = 8 << 20
    /// Documents above which a sender splits a transaction; at most ``SyncLimits/transactionDocuments``.
    package var splitDocuments = SyncLimits.transactionDocuments

    package init() {}
  }

  /// Notices of documents that one side holds, and their filters.
  package struct Notices: Hashable, Sendable {
    /// The maximum number of `have` notices of a resuming receiver.
    ///
    /// It is an eighth of the subscribed documents if that is more. Beyond that, reconciliation finds the
    /// documents.
    package var afterResuming = 4_096
    /// Notices sent before the other side is asked to lead, besides the cost of its filter.
    package var freeNotices: UInt64 = 64
    /// Ids of notices kept individually, in each direction.
    ///
    /// More ids are folded into a filter, or all held documents are looked up.
    package var exactNotices = 4_096
    /// The minimum of held documents that determines how long a filter is good.
    ///
    /// A filter is good for four times as many lookups as there are held documents, or four times this
    /// minimum.
    package var leastLookups: UInt64 = 64
    /// The maximum number of filter bits per id.
    package var filterBits: UInt64 = 64

    package init() {}
  }

  package var calls = Calls()
  package var applying = Applying()
  package var transfers = Transfers()
  package var notices = Notices()
  /// Ranges that a receiver has asked about and has no answer for.
  package var rangesInFlight = 256
  /// Evicted documents that are requested again one by one; more are found by reconciliation.
  package var evictedDocuments = 1_000
  /// Runs of documents bound by earlier transactions, above which the oldest transactions are forgotten.
  package var transactionRuns = 1 << 20
  /// Bytes of both records of a change up to which an operation delta is tried.
  package var operationDeltaRecordBytes = 128 << 10
  /// Documents recorded as written at both ends; above this number all are forgotten.
  package var contendedDocuments = 4_096
  /// Documents in flight in answers for which the session knows how the peer gets them.
  package var documentsInMotion = 16_384
  /// Documents that wait to be processed once all data sent before them has arrived.
  package var waitingOffers = 1 << 16
  /// Possible holders that are tracked individually; above this number every document counts as one.
  package var possibleHolders = 1 << 18
  /// Announced documents that the receiver has not settled; further ones are sent eagerly.
  package var announcedDocuments = 16_384
  /// Commits of a sender after which a following receiver reconciles everything again.
  package var doubtfulCommits: UInt64 = 1 << 20
  /// Documents changed since a receiver's checkpoint above which the receiver has to reconcile.
  package var walkedDocuments = 1 << 16
  /// Documents that are examined on a walk for a receiver that may not read all of them.
  ///
  /// Above this number, the receiver has to reconcile.
  var walkedWork: Int { walkedDocuments * 32 }
  /// Documents of transactions that left a receiver's interest since its checkpoint.
  ///
  /// Above this number, the receiver has to reconcile.
  package var leavingDocuments = 256

  package init() {}
}
