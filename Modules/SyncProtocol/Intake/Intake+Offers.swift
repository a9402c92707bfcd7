import CRDTCore

/// Offers that came before groups sent earlier were applied, which may hold what is offered.
struct EarlyOffers {
  private var waiting = WorkQueue<(offers: [DocumentOffer], until: UInt64)>()
  /// Of all of them.
  private(set) var count = 0

  /// Has offers wait for a group, by its number.
  mutating func append(_ offers: [DocumentOffer], until group: UInt64) {
    count += offers.count
    waiting.append((offers, group))
  }

  /// Takes out the first that wait for nothing any more, with all groups through `group` applied.
  mutating func removeFirst(appliedThrough group: UInt64) -> [DocumentOffer]? {
    guard let next = waiting.first, next.until <= group else { return nil }
    _ = waiting.removeFirst()
    count -= next.offers.count
    return next.offers
  }
}

/// Documents that the sender may know in a newer state than the one held here.
extension Intake {
  /// Takes offers; what the sender has sent before may hold the same, and is to be here first.
  func take(_ offers: [DocumentOffer]) throws(SyncError) {
    guard !Probe.defect(.offersIgnored) else { return }
    guard receivedGroups == appliedGroups else {
      guard earlyOffers.count + offers.count <= context.tuning.waitingOffers else {
        for offer in offers where interest.covers(offer.collection) { due.add(offer.collection) }
        return
      }
      return earlyOffers.append(offers, until: receivedGroups)
    }
    try look(at: offers)
  }

  /// Looks at the offers that waited for groups which are here now.
  func takeEarlyOffers() throws(SyncError) {
    while let offers = earlyOffers.removeFirst(appliedThrough: appliedGroups) { try look(at: offers) }
  }

  private func look(at offers: [DocumentOffer]) throws(SyncError) {
    sendWants(try differing(offers.map { ($0.collection, $0.item) }), round: 0, isGroup: false)
  }
}
