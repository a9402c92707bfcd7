import CRDTCore
import Failpoints

/// Documents that the sender may know in a newer state than the one held here.
extension Puller {
  /// Takes offers; what the sender has sent before may hold the same, and is to be here first.
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

  /// Looks at the offers that waited for groups which are here now.
  func takeEarlyOffers() throws(SyncError) {
    while let offers = earlyOffers.removeFirst(where: { $0 <= queue.appliedGroups }) { try look(at: offers) }
  }

  private func look(at offers: [DocumentOffer]) throws(SyncError) {
    sendWants(try differing(offers.map { ($0.collection, $0.item) }), round: 0, isGroup: false)
  }
}
