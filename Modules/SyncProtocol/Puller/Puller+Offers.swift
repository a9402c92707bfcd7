import CRDTCore
import Failpoints

/// Offers: documents of which the sender may have a newer state than the one held here.
extension Puller {
  /// Receives offers, and defers them until everything received before them is applied.
  func take(_ offers: [DocumentOffer]) throws(SyncError) {
    guard !SyncDefect.offersIgnored.isPlanted else { return }
    for offer in offers where interest.covers(offer.collection) {
      telling[offer.collection].receive(told: IDFilter.hash(offer.item.id))
    }
    guard queue.isApplied else {
      guard earlyOffers.count + offers.count <= context.tuning.waitingOffers else {
        for offer in offers where interest.covers(offer.collection) { compareWhenApplied(offer.collection) }
        return
      }
      return earlyOffers.append(offers, until: queue.receivedGroups)
    }
    try look(at: offers)
  }

  /// Processes deferred offers whose earlier transactions are now applied.
  func takeEarlyOffers() throws(SyncError) {
    while let offers = earlyOffers.removeFirst(where: { $0 <= queue.appliedGroups }) { try look(at: offers) }
  }

  private func look(at offers: [DocumentOffer]) throws(SyncError) {
    sendWants(try differing(offers.map { ($0.collection, $0.item) }), round: 0, isGroup: false)
  }
}
