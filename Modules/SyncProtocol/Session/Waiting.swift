/// A queue of notices that wait for a point in the stream.
///
/// The sender waits until everything queued before them has been sent; the receiver waits until everything sent
/// before them is applied.
struct Waiting<Notice, Point> {
  private var waiting = WorkQueue<(notices: [Notice], point: Point)>()
  /// The number of notices.
  private(set) var count = 0

  mutating func append(_ notices: [Notice], until point: Point) {
    count += notices.count
    waiting.append((notices, point))
  }

  /// Removes and returns the first notices if their point is reached.
  mutating func removeFirst(where isReached: (Point) -> Bool) -> [Notice]? {
    guard let next = waiting.first, isReached(next.point) else { return nil }
    _ = waiting.removeFirst()
    count -= next.notices.count
    return next.notices
  }

  mutating func removeAll() { self = Waiting() }
}
