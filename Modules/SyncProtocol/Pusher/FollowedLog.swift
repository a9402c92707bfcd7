import CRDTCore
import DocStore

/// Which documents of a collection a receiver learns of because it follows the log.
struct FollowedLog {
  private let start: UInt64
  private let matcher: CollectionInterest

  init(after start: UInt64, matcher: CollectionInterest) {
    (self.start, self.matcher) = (start, matcher)
  }

  /// Whether the receiver learns of every living document written with this sequence.
  func reportsAll(at sequence: UInt64) -> Bool { sequence > start && matcher.matchesAll }

  /// Whether the receiver learns of a document written with this sequence.
  func reports(_ id: RawSpan, _ record: borrowing RecordView, at sequence: UInt64) -> Bool {
    sequence > start && matcher.matches(id, record)
  }
}
