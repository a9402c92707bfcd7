import CRDTCore
import DocStore

/// Where a receiver stands in this store's log, as far as a session knows.
struct LogPlace {
  /// Frames with wants and haves that came in.
  var asksTaken: UInt64 = 0
  /// The last commit when the reconciliation that goes on, or went on last, began: it need not be of everything.
  var compared: UInt64 = 0
  /// The last commit that is taken in by comparing everything, or by following the log; 0 before either.
  var settled: UInt64 = 0
  /// The sequence up to which the receiver was compared with, or the log was walked; `nil` before either.
  var followed: UInt64?
  /// Stands for what might be sent when that began.
  var policyPrint: UInt64 = 0
  /// Whether the session went on from a cursor: what the receiver holds and this peer does not match was told in
  /// an earlier one, so nobody here knows of it.
  var isResumed = false
  /// The walk from the receiver's cursor, while it goes on.
  var walk: LogWalk?
  /// The last of this store's own readings that the receiver had met; `nil` where later writes are not sent unasked.
  var unaskedAfter: ClockReading?
  /// Up to where the receiver knows what is written here, while it follows the log: of later it hears by announcements,
  /// or live.
  var toldThrough: UInt64?
  /// Transactions up to there were announced, and the receiver may have some in part only.
  var resumedThrough: UInt64 = 0
  /// The last mark: what it said, what had gone out by then, and when.
  var marked: Mark?
  var markedAt: Duration = .zero
  /// Whether a commit since the last mark had to do with the receiver, wherever it came from.
  var isMoved = false
  /// A mark that waits for groups to go out.
  var waiting: Mark?
  /// How fast the receiver takes announcements.
  var pace = AnnouncementPace()
  /// Whether announcements went out after which nothing has come back.
  var isAnnouncing = false
  /// What the ping carries after which the receiver has asked for all it lacks of them.
  var closing: UInt64?
  /// Where a walk began because changes came faster than the link: the other half is to be told.
  var fellBehindAt: UInt64?

  /// Whether changes are not queued, because a walk finds them.
  var isBehind: Bool { walk?.isBacklog ?? false }

  struct Mark: Equatable {
    let sequence: UInt64
    let asksTaken: UInt64
    /// All groups that were taken before it.
    let after: SendQueue.Progress
  }
}

/// What of a collection a receiver hears as it follows the log.
struct FollowedLog {
  private let start: UInt64
  private let matcher: CollectionInterest

  init(after start: UInt64, matcher: CollectionInterest) {
    (self.start, self.matcher) = (start, matcher)
  }

  /// Whether it tells of every living document that was written with a sequence.
  func tellsAll(at sequence: UInt64) -> Bool { sequence > start && matcher.matchesAll }

  /// Whether it tells of a document that was written with a sequence.
  func tells(_ id: RawSpan, _ record: borrowing RecordView, at sequence: UInt64) -> Bool {
    sequence > start && matcher.matches(id, record)
  }
}
