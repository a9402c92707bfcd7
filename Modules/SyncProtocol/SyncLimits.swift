import CRDTCore

/// Bounds of the protocol and of a session's memory.
package enum SyncLimits {
  /// The versions this release speaks.
  package static let versions: ClosedRange<UInt16> = 2...2
  /// The most that a frame's length field may say.
  package static let frameBytes = 128 << 10
  /// Bytes of one announced group, which goes into one frame; a longer one is sent.
  package static let announcedGroupBytes = 96 << 10
  /// Bytes of a peer's or an application's name in hello.
  package static let nameBytes = 256
  /// Encoded bytes of one subscription.
  package static let subscriptionBytes = 96 << 10
  /// Encoded bytes of all subscriptions of a peer.
  package static let interestBytes = 1 << 20
  /// How many peers' subscriptions are remembered when they have gone, and how many bytes of the wire these had.
  package static let knownInterests = 64
  package static let knownInterestBytes = 512 << 10
  /// Plain bytes of one group: a longer one is refused when it comes in.
  package static let groupBytes = 32 << 20
  /// The largest document that is ever sent, whatever the configuration says.
  package static let documentBytes = Limits.mergedDocumentBytes
  /// Plain bytes of a group in the stream of small ones; a longer one is a transfer of its own.
  package static let smallGroupBytes = 64 << 10
  /// Documents of one group.
  package static let groupDocuments = 65_536
  /// Plain bytes that a sender leaves unacknowledged, beside one group.
  package static let plainWindowBytes = 16 << 20
  /// Plain bytes that a receiver offers to take while some wait to be applied.
  package static let creditBytes = 8 << 20
  /// Beginnings that are kept, and told to a peer.
  package static let stagedTransfers = 4
  /// Those of one peer, and the bytes in memory of all of them, beside one.
  package static let stagedTransfersOfPeer = 2
  package static let stagedMemoryBytes = 8 << 20
  /// For how long they are.
  package static let stagedAge = Duration.seconds(24 * 3_600)
  /// Bytes before a piece that a dense packer learns where they were not sent.
  package static let learntBytes = 128 << 10
  /// Bounds of the bytes in flight.
  package static let windowBytes: ClosedRange<Int> = 1_536...(8 << 20)
  /// The least that is sent as one piece while there is more.
  package static let pieceBytes = 256
  /// A hello that takes longer than this tells of a long or slow link.
  package static let longHello = Duration.milliseconds(10)
  /// Bytes in flight on such a link before anything is known of its rate.
  package static let longLinkWindowBytes = 4 << 10
  /// Bytes a second below which a link counts as slow.
  package static let slowLinkRate = 200_000.0
  /// Bytes a second below which pieces are packed densely.
  package static let denseLinkRate = 64_000.0
  /// Plain bytes of a piece that is packed densely, which takes far longer than others do.
  package static let densePieceBytes = 16 << 10
  /// Plain bytes of a group in the stream of small ones on a slow link.
  package static let slowSmallGroupBytes = 16 << 10
  /// Bytes in flight at first where both ends are on one machine.
  package static let localWindowBytes = 2 << 20
  /// Plain bytes from which on a piece of the small groups is bulk, unless it begins with a live change.
  package static let bulkPieceBytes = 4 << 10
  /// Plain bytes below which a piece that begins with a live change is no more than a few changes.
  package static let changePieceBytes = 1 << 10
  /// So many documents of live changes and more, with at most so many plain bytes each, are little but ids.
  package static let idPieceDocuments = 64
  package static let idPieceBytesEach = 48
  /// A range with at most this many documents at either end is listed.
  package static let listedDocuments = 32
  /// The same where so many ranges are asked about that most documents are likely to differ.
  package static let listedWhereMuchDiffers = 48
  /// So many documents that wait to go out together take long to gather.
  package static let gatheredDocuments = 1_000
  /// For how long they wait, at most, until the sender has asked all that it asks itself.
  package static let gatheringDelay = Duration.milliseconds(50)
  /// Documents that a receiver tells of one by one when it resumes, however many it asks for.
  package static let notices = 1 << 15
  /// How often a session looks whether others have let go of memory.
  package static let memoryInterval = Duration.milliseconds(20)
  /// How long a peer may stop within a group while others wait for the memory that it takes.
  package static let holdSpan = Duration.seconds(5)
  /// The parts into which a range is split.
  package static let splitParts = 16
  /// Statements that are run for one peer at a time.
  package static let remoteQueries = 4
  /// Bytes of the text of such a statement and of its arguments, and of the code and the message of the error that answers it.
  package static let statementBytes = 16 << 10
  package static let statementArgumentBytes = 64 << 10
  package static let errorCodeBytes = 64
  package static let errorMessageBytes = 4_096
  /// Bytes of their answers that wait until the peer takes them, and what one of them may take to find its rows.
  package static let unreadAnswerBytes = 16 << 20
  package static let remoteQueryMemoryBytes = 16 << 20
  /// So many pings are answered at once, and then one for so many bytes that came, and one for so much time.
  package static let pingsAtOnce = 64
  package static let bytesPerPing = 16 << 10
  package static let timePerPing = Duration.milliseconds(62)
  /// How often a reconciliation may have each record visited.
  package static let visitsOfRecord = 32
  /// So many certificates of a collection are counted; where there are more, those of all collections stand for them.
  package static let countedCertificates = 4_096
  /// Bytes of a filter of ids, about three million of them, and of each piece in which it comes.
  package static let filterBytes = 4 << 20
  package static let filterPieceBytes = 64 << 10
  /// Bytes of the filters of one role that a session holds, and of one into which it folds ids that are told one by one.
  package static let roleFilterBytes = 4 << 20
  package static let foldedFilterBytes = 16 << 10
  /// Records that a session visits at once for filters that its peer asks for, and then in a second, of each role.
  package static let filterVisits = 1 << 22
  package static let filterVisitsPerSecond = 1 << 15
  /// As how many of them an ask counts at least.
  static let leastFilterVisits: UInt64 = 1_024
  /// What an id of a notice that waits for a filter takes in memory beside its bytes, and one that was told.
  static let waitingIDBytes = 64
  static let toldIDBytes = 16
  /// Questions that a peer may have open.
  package static let questions = 1_024
  /// Bytes in memory of documents that a peer has asked for and not got, and of ranges of which it has asked for all.
  package static let wantedBytes = 12 << 20
  /// Bytes of those that are yet to be looked at, beyond which the peer's questions wait for their answers.
  package static let wantedWhileAnswering = 4 << 20
  /// Bytes of those that wait for others that go out with them, beyond which further ones go out alone.
  package static let gatheredBytes = 6 << 20
  /// What is held of one range that is compared: documents, and bytes of their ids, beside one.
  package static let digestDocuments = 16_384
  package static let digestIDBytes = 1 << 20
  /// Announced changes that all sessions of a store together wait for before they ask for them.
  package static let awaitedChanges = 65_536
  /// Names of pieces of a group that a peer is told, so that they are not sent again: six bytes each, in one frame.
  package static let stagedNames = 1 << 13
  /// Bytes of a transfer that the store is given at once to put aside: they are in memory twice until it has them.
  package static let stagedAtOnceBytes = 1 << 20
  /// Groups in parts, left unfinished by sessions that are over, whose parts are kept for the next session.
  package static let leftGroups = 16
  /// Damaged records, and documents that are too large to be merged, that a session tells apart.
  package static let tellableRecords = 1_024
  /// Ranges of what cannot be read that a session tells apart; further ones count as their whole collections.
  package static let unreadableRanges = 64
}
