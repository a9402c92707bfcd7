/// Notices that wait until the session has come to a point: at the sender all that was queued before them has gone out, at
/// the receiver all that was sent before them is applied.
struct Waiting<Notice, Point> {
  private var waiting = WorkQueue<(notices: [Notice], documents: Int, point: Point)>()
  /// The documents that all of them name.
  private(set) var count = 0

  /// Takes notices that name `documents`, one each unless it is told.
  mutating func append(_ notices: [Notice], documents: Int? = nil, until point: Point) {
    let documents = documents ?? notices.count
    count += documents
    waiting.append((notices, documents, point))
  }

  /// Takes out the first, if they wait for nothing any more.
  mutating func removeFirst(where isReached: (Point) -> Bool) -> [Notice]? {
    guard let next = waiting.first, isReached(next.point) else { return nil }
    _ = waiting.removeFirst()
    count -= next.documents
    return next.notices
  }

  mutating func removeAll() { self = Waiting() }
}
