import CRDTCore
import DocStore

/// Documents that do not match the interest, of which the peer may hold a copy that does, and those that both peers have
/// changed and merge.
extension Supply {
  /// A document that came to be here, or changed, without matching: the peer may hold a copy that does.
  func offer(_ change: Change) -> DocumentOffer? {
    let isWatched = watch.contains(change.key)
    guard isWatched || log.isResumed || change.before == nil, let summary = change.afterSummary,
      let cleared = gatekeeper?.clear(change.collection.name)
    else { return nil }
    let id = change.id
    let hash = Fingerprint.hash(id: id.bytes.span.bytes, summary: summary)
    let offer = DocumentOffer(cleared, item: DocumentHash(id: id, hash: hash))
    return isWatched ? offer : self.offer(offer)
  }

  /// A document that is too large to be sent whole: who holds a copy asks for what it lacks.
  func offer(oversize change: Change, _ summary: Summary) -> DocumentOffer? {
    guard let cleared = gatekeeper?.clear(change.collection.name) else { return nil }
    let id = change.id
    return DocumentOffer(
      cleared, item: DocumentHash(id: id, hash: Fingerprint.hash(id: id.bytes.span.bytes, summary: summary)))
  }

  /// Whether to make an offer now.
  func offer(_ offer: DocumentOffer) -> DocumentOffer? {
    switch watch.decide(offer) {
    case .offer: return offer
    case .wait, .pass: return nil
    case .ask:
      context.send(.filterWanted) { $0.writeString(offer.collection) }
      return nil
    }
  }

  func take(_ frame: FilterFrame) throws(SyncError) {
    guard frame.generation == generation else { return }
    send(try watch.take(frame))
  }

  /// Makes offers when all that was queued before them has gone out: of what is yet to come the peer would not know.
  func send(_ offers: [DocumentOffer]) {
    guard !offers.isEmpty else { return }
    waitingOffers.append(offers, until: outgoing.taken)
    sendOffers()
  }

  /// Makes the offers whose time has come.
  func sendOffers() {
    while let offers = waitingOffers.removeFirst(where: { outgoing.gone.covers($0) }) { sendNow(offers) }
  }

  /// Whether the peer needs no answer to a document that it sent, as it comes to the same as this one by itself.
  ///
  /// It is told what that is, when there is nothing else to do: where removals were forgotten it may come to something
  /// else.
  func isMet(_ request: DocumentRequest, _ key: DocumentKey, _ source: Source) -> Bool {
    guard let begun = request.begun, let hash = underWay.meeting(key, begunWith: begun),
      let cleared = gatekeeper?.clear(source.collection.name)
    else { return false }
    Probe.reached(.metUnderWay)
    met.note(
      DocumentOffer(cleared, item: DocumentHash(id: request.id, hash: hash)), of: key, now: context.now)
    return true
  }

  /// Tells what both peers came to, when all else is done, or when that is too much to wait with.
  func sendMet() {
    guard !met.isEmpty else { return }
    let isQuiet =
      requests.isEmpty && log.walk == nil
      && (outgoing.isConfirmed || context.now >= met.since + .seconds(1))
    if isQuiet || met.count >= context.tuning.waitingOffers / 2 { send(met.take()) }
  }

  private func sendNow(_ offers: [DocumentOffer]) {
    let cleared = offers.filter { gatekeeper?.maySend($0.collection) ?? false }
    for part in cleared.parts(of: 48 << 10, size: { $0.item.id.bytes.count + $0.collection.utf8.count + 12 })
    {
      context.send(.offer) { DocumentOffer.encode(Array(part), to: &$0) }
    }
  }
}
