import CRDTCore
import DocStore

/// The receiver's position in this store's log, as far as this session knows it.
struct LogPlace {
  /// The number of request and have frames received.
  var asksTaken: UInt64 = 0
  /// The last commit at the start of the current or latest reconciliation, which may have covered some
  /// collections only.
  var compared: UInt64 = 0
  /// The last commit covered by a reconciliation of everything or by following the log; 0 before either.
  var settled: UInt64 = 0
  /// The sequence up to which the receiver was reconciled or the log was walked; `nil` before either.
  var followed: UInt64?
  /// Identifies the policy under which that began.
  var policyPrint: UInt64 = 0
  /// Whether the session resumed from a checkpoint.
  ///
  /// An earlier session then exchanged what the receiver holds without a match here, and this one does not
  /// know it.
  var isResumed = false
  /// The current walk from the receiver's checkpoint.
  var walk: LogWalk?
  /// The last local HLC timestamp whose writes the receiver has; `nil` if later writes are not sent
  /// unasked.
  var unaskedAfter: ClockReading?
  /// The log position up to which the receiver knows this store's changes, while it follows the log.
  ///
  /// Of later changes it learns by announcements, or live.
  var toldThrough: UInt64?
  /// The sequence up to which transactions were announced; the receiver may have only a part of each.
  var resumedThrough: UInt64 = 0
  /// The last checkpoint message: its contents, what had been sent by then, and the time.
  var marked: Mark?
  var markedAt: Duration = .zero
  /// Whether a commit since the last checkpoint message concerns the receiver, whatever its origin.
  var isMoved = false
  /// A checkpoint message that waits until the groups before it are sent.
  var waiting: Mark?
  /// The flow control of announcements.
  var pace = AnnouncementPace()
  /// Whether announcements from the log were made that the receiver has not settled.
  var isAnnouncing = false
  /// The position after which the peer may have missed changes: the puller repeats its notices from there.
  var fellBehindAt: UInt64?

  /// Whether changes are not queued, because a walk finds them.
  var isBehind: Bool { walk?.isBacklog ?? false }

  struct Mark: Equatable {
    let sequence: UInt64
    let asksTaken: UInt64
    /// All groups that were queued before it.
    let after: SendQueue.Progress
  }
}

/// Which documents of a collection a receiver learns of because it follows the log.
struct FollowedLog {
  private let start: UInt64
  private let matcher: CollectionInterest

  init(after start: UInt64, matcher: CollectionInterest) {
    (self.start, self.matcher) = (start, matcher)
  }

  /// Whether the receiver learns of every living document written with this sequence.
  func tellsAll(at sequence: UInt64) -> Bool { sequence > start && matcher.matchesAll }

  /// Whether the receiver learns of a document written with this sequence.
  func tells(_ id: RawSpan, _ record: borrowing RecordView, at sequence: UInt64) -> Bool {
    sequence > start && matcher.matches(id, record)
  }
}
