import CRDTCore
import DocStore
import Failpoints

/// What the sender says of everything that it has sent before.
extension Puller {
  /// Interprets the notices before which everything is applied.
  ///
  /// - Returns: The documents of which the sender lacks something.
  func takeNotices() throws(SyncError) -> [DocumentRequest] {
    var owed: [DocumentRequest] = []
    while let notice = pull.queue.takeNotice() {
      switch notice {
      case .offers(let offers): try take(offers)
      case .announcement(let announcement): owed += try announcements.take(announcement)
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
    for offer in offers where pull.interest.covers(offer.collection) {
      telling.receive(told: offer.item.id, of: offer.collection)
    }
    pull.sendWants(try differing(offers.map { ($0.collection, $0.item) }), round: 0, isGroup: false)
  }

  /// Sends notices of documents that are new under the interest, as far as the rule requires them.
  func tell(_ events: [DocumentHave]) throws(SyncError) {
    var haves: [DocumentHave] = []
    for have in events where try telling.tells(event: have.id, of: have.collection) { haves.append(have) }
    pull.sendHaves(haves, round: 0)
  }

  /// Returns requests for the listed documents that are held here under the interest in another state.
  func differing(_ items: [(collection: String, item: DocumentHash)]) throws(SyncError) -> [DocumentWant] {
    let interest = pull.interest
    let gatekeeper = context.gatekeeper
    return try context.read { transaction in
      let sites = transaction.sites
      var wants: [DocumentWant] = []
      for (name, item) in items {
        guard let collection = try transaction.collection(name),
          let matcher = interest.matcher(for: collection)
        else { continue }
        try transaction.visitIntactRecord(collection, item.id, damaged: context.tellDamaged) {
          _, record, summary in
          let id = item.id.bytes.span.bytes
          guard matcher.matches(id, record), Fingerprint.hash(id: id, summary: summary) != item.hash else {
            return
          }
          let version = DocumentVersion(
            collection: name, id: item.id, vector: try record.vector(sites: sites))
          wants.append(DocumentWant(version, isHeld: true, gatekeeper))
        }
      }
      return wants
    }
  }
}
