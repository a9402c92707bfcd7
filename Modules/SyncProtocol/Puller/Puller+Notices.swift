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
        telling.reset()
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
      telling.receive(told: offer.item.id, of: offer.collection)
    }
    sendWants(try differing(offers.map { ($0.collection, $0.item) }), round: 0, isGroup: false)
  }

  /// Sends notices of documents that are new under the interest, as far as the rule requires them.
  func tell(_ events: [DocumentHave]) throws(SyncError) {
    var haves: [DocumentHave] = []
    for have in events where try telling.tells(event: have.id, of: have.collection) { haves.append(have) }
    sendHaves(haves, round: 0)
  }
}
