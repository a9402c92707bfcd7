import CRDTCore

/// Bounds of the protocol and of a session's memory.
package enum SyncLimits {
  /// The protocol versions that this release speaks.
  package static let versions: ClosedRange<UInt16> = 2...2
  /// The time of this release, in milliseconds since 1970 (2026-11-29).
  ///
  /// A wall clock that shows an earlier time is wrong.
  package static let releaseTime: UInt64 = 1_795_910_400_000
  /// Milliseconds that a peer's clock may be ahead of this peer's wall clock before the peer is notified.
  package static let tolerableLead = UInt64(HybridClock.maximumLead / .milliseconds(1))
  /// The maximum of a frame's length field.
  package static let frameBytes = 128 << 10
  /// Notices, or requests, that are sent together to a peer that may not read everything; fewer at the end.
  package static let cutNotices = 512
  /// Questions that one frame has at most.
  package static let cutQuestions = 100
  /// Documents that a sender will send without requests, below which it gives no forecast of them.
  package static let forecastDocuments: UInt64 = 64
  /// Visited records after which a forecast is corrected for the first time.
  package static let forecastCorrection: UInt64 = 1_024
  /// Bytes of the announcement of one transaction, which takes one frame; a longer one is sent as data.
  package static let announcedTransactionBytes = 96 << 10
  /// Bytes of a peer's or an application's name in hello.
  package static let nameBytes = 256
  /// Encoded bytes of one subscription.
  package static let subscriptionBytes = 96 << 10
  /// Encoded bytes of all subscriptions of a peer.
  package static let interestBytes = 1 << 20
  /// How many interests of peers are cached, and their total bytes on the wire.
  package static let knownInterests = 64
  package static let knownInterestBytes = 512 << 10
  /// Plain bytes of one transaction; a longer one is rejected on receipt.
  package static let transactionBytes = 32 << 20
  /// The largest document that is ever sent, whatever the configuration says.
  package static let documentBytes = Limits.mergedDocumentBytes
  /// Plain bytes of a transaction in the common stream; a longer one has its own transfer.
  package static let smallTransactionBytes = 64 << 10
  /// Documents of one transaction.
  package static let transactionDocuments = 65_536
  /// Plain bytes that a sender leaves unacknowledged, besides one transaction.
  package static let plainWindowBytes = 16 << 20
  /// The credit in plain bytes that a receiver grants while data waits to be applied.
  package static let creditBytes = 8 << 20
  /// Interrupted transfers that are kept, and reported to a peer.
  package static let stagedTransfers = 4
  /// The number kept per peer, and the bytes in memory of all, besides one.
  package static let stagedTransfersOfPeer = 2
  package static let stagedMemoryBytes = 8 << 20
  /// How long they are kept.
  package static let stagedAge = Duration.seconds(24 * 3_600)
  /// Erased documents that are remembered for transfers that were running meanwhile.
  package static let rememberedErasures = 1_024
  /// Documents of staged transactions that are known without reading; 16 bytes each, and their table.
  package static let knownStagedDocuments = 1 << 18
  /// Staged transactions of which the documents are known.
  package static let knownStagedTransactions = 1_024
  /// Bytes before a chunk that prime a dense packer if they were not sent.
  package static let learntBytes = 128 << 10
  /// The bounds of the bytes in flight.
  package static let windowBytes: ClosedRange<Int> = 1_536...(8 << 20)
  /// The minimum size of a chunk while there is more to send.
  package static let pieceBytes = 256
  /// A hello that takes longer than this indicates a link that is long or slow.
  package static let longHello = Duration.milliseconds(10)
  /// Bytes in flight on such a link before its rate is known.
  package static let longLinkWindowBytes = 4 << 10
  /// Bytes per second below which a link counts as slow.
  package static let slowLinkRate = 200_000.0
  /// Bytes per second below which chunks are packed densely.
  package static let denseLinkRate = 64_000.0
  /// Plain bytes of a densely packed chunk, which takes far longer to pack.
  package static let densePieceBytes = 16 << 10
  /// Plain bytes of a transaction in the common stream on a slow link.
  package static let slowSmallTransactionBytes = 16 << 10
  /// Initial bytes in flight where both ends are on one machine.
  package static let localWindowBytes = 2 << 20
  /// Plain bytes above which a chunk of the common stream is bulk, unless it begins with a live change.
  package static let bulkPieceBytes = 4 << 10
  /// Plain bytes below which a chunk that begins with a live change has only a few changes.
  package static let changePieceBytes = 1 << 10
  /// At least this many documents of live changes, each with at most this many plain bytes, are mostly ids.
  package static let idPieceDocuments = 64
  package static let idPieceBytesEach = 48
  /// A range with at most this many documents at either end is listed.
  package static let listedDocuments = 32
  /// The same if most documents are likely to differ, since many ranges are in question.
  package static let listedWhereMuchDiffers = 48
  /// Above this number, documents that wait to be sent together take long to gather.
  package static let gatheredDocuments = 1_000
  /// The maximum time they wait, until the sender has finished its own requests.
  package static let gatheringDelay = Duration.milliseconds(50)
  /// The maximum number of `have` notices of a resuming receiver, however many documents it requests.
  package static let notices = 1 << 15
  /// How often a session checks whether others have freed memory.
  package static let memoryInterval = Duration.milliseconds(20)
  /// How long a peer may stop within a transaction while others wait for the memory that it takes.
  package static let holdSpan = Duration.seconds(5)
  /// The number of parts into which a range is split.
  package static let splitRanges = 16
  /// Statements that run for one peer at a time.
  package static let remoteQueries = 4
  /// Bytes of a statement's text and arguments, and of the code and message of an error answer.
  package static let statementBytes = 16 << 10
  package static let statementArgumentBytes = 64 << 10
  package static let errorCodeBytes = 64
  package static let errorMessageBytes = 4_096
  /// Bytes of answers that wait for the peer, and memory that one statement may take to find its rows.
  package static let unreadAnswerBytes = 16 << 20
  package static let remoteQueryMemoryBytes = 16 << 20
  /// Pings answered immediately; then one more per number of received bytes, and one per period of time.
  package static let pingsAtOnce = 64
  package static let bytesPerPing = 16 << 10
  package static let timePerPing = Duration.milliseconds(62)
  /// How often a reconciliation may visit each record.
  package static let visitsOfRecord = 32
  /// The maximum count of a collection's compacted tombstones.
  ///
  /// Above it, the count of all collections is used.
  package static let countedCertificates = 4_096
  /// Bytes of a filter, enough for about three million ids, and of each chunk of it.
  package static let filterBytes = 4 << 20
  package static let filterPieceBytes = 64 << 10
  /// Bytes of one role's filters in a session, and of the filter into which single reported ids are folded.
  package static let roleFilterBytes = 4 << 20
  package static let foldedFilterBytes = 16 << 10
  /// Records visited for the peer's filter requests, for each role: in a burst, and then per second.
  package static let filterVisits = 1 << 22
  package static let filterVisitsPerSecond = 1 << 15
  /// The minimum number of visits that a request counts as.
  static let leastFilterVisits: UInt64 = 1_024
  /// Memory of an id that waits for a filter, besides its bytes, and of a reported id.
  static let waitingIDBytes = 64
  static let reportedIDBytes = 16
  /// Questions that a peer may have open.
  package static let questions = 1_024
  /// Memory of documents that a peer has requested and not received, and of ranges requested as a whole.
  package static let wantedBytes = 12 << 20
  /// Bytes of unprocessed requests above which the peer's questions wait for answers.
  package static let wantedWhileAnswering = 4 << 20
  /// Bytes of requests that wait for others of their closure; above it, further documents are sent alone.
  package static let gatheredBytes = 6 << 20
  /// The limits for one range in reconciliation: documents, and bytes of their ids, besides one.
  package static let digestDocuments = 16_384
  package static let digestIDBytes = 1 << 20
  /// Announced changes that all sessions of a store may wait for before they request them.
  package static let awaitedChanges = 65_536
  /// Names of staged chunks sent to a peer, so that it does not send the chunks again.
  ///
  /// They take six bytes each, in one frame.
  package static let stagedNames = 1 << 13
  /// Bytes of a transfer that one batch stages; they are in memory twice until the store has them.
  package static let stagedAtOnceBytes = 1 << 20
  /// Unfinished segmented transactions of ended sessions whose segments are kept for the next session.
  package static let leftTransactions = 16
  /// Damaged records, and documents too large to merge, that a session records individually.
  package static let reportableRecords = 1_024
  /// Unreadable ranges that a session records individually; further ones count as whole collections.
  package static let unreadableRanges = 64
}
