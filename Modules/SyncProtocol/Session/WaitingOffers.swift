/// Offers that wait until the session has come to a point: at the sender all that was queued before them has gone out, at
/// the receiver all that was sent before them is applied.
struct WaitingOffers<Point> {
  private var waiting = WorkQueue<(offers: [DocumentOffer], point: Point)>()
  /// Of all of them.
  private(set) var count = 0

  mutating func append(_ offers: [DocumentOffer], until point: Point) {
    count += offers.count
    waiting.append((offers, point))
  }

  /// Takes out the first, if they wait for nothing any more.
  mutating func removeFirst(where isReached: (Point) -> Bool) -> [DocumentOffer]? {
    guard let next = waiting.first, isReached(next.point) else { return nil }
    _ = waiting.removeFirst()
    count -= next.offers.count
    return next.offers
  }

  mutating func removeAll() { self = WaitingOffers() }
}
