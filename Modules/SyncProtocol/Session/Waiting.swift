/// Notices that wait until the session has come to a point: at the sender all that was queued before them has gone out, at
/// the receiver all that was sent before them is applied.
struct Waiting<Notice, Point> {
  private var waiting = WorkQueue<(notices: [Notice], point: Point)>()
  /// How many there are.
  private(set) var count = 0

  mutating func append(_ notices: [Notice], until point: Point) {
    count += notices.count
    waiting.append((notices, point))
  }

  /// Takes out the first, if they wait for nothing any more.
  mutating func removeFirst(where isReached: (Point) -> Bool) -> [Notice]? {
    guard let next = waiting.first, isReached(next.point) else { return nil }
    _ = waiting.removeFirst()
    count -= next.notices.count
    return next.notices
  }

  mutating func removeAll() { self = Waiting() }
}
