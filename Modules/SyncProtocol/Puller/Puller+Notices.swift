import CRDTCore
import Failpoints

/// What the sender says of everything that it has sent before.
extension Puller {
  /// Interprets the notices before which everything is applied.
  ///
  /// - Returns: The documents of which the sender lacks something.
  func takeNotices() throws(SyncError) -> [DocumentRequest] {
    var owed: [DocumentRequest] = []
    while let notice = queue.takeNotice() {
      switch notice {
      case .offers(let offers): try take(offers)
      case .announcement(let announcement): owed += try take(announcement)
      case .settled(let round): settled(round: round)
      case .mark(let frame, let own): following.mark = Following.Mark(frame: frame, own: own)
      case .renew:
        resetTelling()
        renew()
        context.send(.renewed)
      }
    }
    return owed
  }

  /// Requests offered documents of which this peer holds another state.
  private func take(_ offers: [DocumentOffer]) throws(SyncError) {
    guard !SyncDefect.offersIgnored.isPlanted else { return }
    for offer in offers where interest.covers(offer.collection) {
      telling[offer.collection].receive(told: IDFilter.hash(offer.item.id))
    }
    sendWants(try differing(offers.map { ($0.collection, $0.item) }), round: 0, isGroup: false)
  }
}
