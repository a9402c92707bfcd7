/// Notices that wait for a point in a stream of transactions, in their order.
///
/// The sender waits until everything queued before a notice has been sent; the receiver waits until
/// everything sent before it is applied.
struct Waiting<Notice, Point> {
  private var waiting = WorkQueue<(notice: Notice, documents: Int, point: Point)>()
  /// The number of documents that the notices name.
  private(set) var documentCount = 0

  var isEmpty: Bool { waiting.isEmpty }

  mutating func append(_ notice: Notice, documents: Int = 0, until point: Point) {
    documentCount += documents
    waiting.append((notice, documents, point))
  }

  /// Removes and returns the first notice, with the point that it waited for, if that is reached.
  mutating func removeFirst(where isReached: (Point) -> Bool) -> (notice: Notice, point: Point)? {
    guard let next = waiting.first, isReached(next.point) else { return nil }
    _ = waiting.removeFirst()
    documentCount -= next.documents
    return (next.notice, next.point)
  }

  /// Removes the notices for which `isDropped` is true.
  mutating func removeAll(where isDropped: (Notice) -> Bool) {
    var kept = Waiting()
    while let next = waiting.removeFirst() {
      if !isDropped(next.notice) { kept.append(next.notice, documents: next.documents, until: next.point) }
    }
    self = kept
  }
}
