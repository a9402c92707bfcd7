import CRDTCore
import DocStore
import Failpoints

/// Documents that do not match the interest, of which the peer may hold a copy that does, and those that both peers have
/// changed and merge.
extension Pusher {
  /// A document that is too large to be sent whole: who holds a copy asks for what it lacks.
  func offer(oversize change: Change, _ summary: Summary) -> DocumentOffer? {
    guard let cleared = gatekeeper?.clear(change.collection.name) else { return nil }
    let id = change.id
    return DocumentOffer(
      cleared, item: DocumentHash(id: id, hash: Fingerprint.hash(id: id.bytes.span.bytes, summary: summary)))
  }

  /// A change to a state that does not match, if the peer is to hear of it now: it may hold a copy that does.
  ///
  /// The peer itself has brought it where it `isOwn`.
  func offer(
    _ change: Change, _ summary: Summary, matched: Bool, isOwn: Bool
  ) throws(SyncError) -> DocumentOffer? {
    let collection = change.collection.name
    guard let cleared = gatekeeper?.clear(collection) else { return nil }
    let isLeading = telling[collection].isLeading
    // Where the peer relies on this one it does not matter who brought it: it may evict that, and get an older copy
    // elsewhere.
    if isOwn, !isLeading { return nil }
    let isNew = change.before == nil || !isOwn && !matched && (log.isResumed || watch.isBlind)
    let hasLeft = matched && isLeading && !SyncDefect.leaverNotOffered.isPlanted
    let isWatched =
      !isOwn && !matched && (watch.contains(change.key) || unnamed.contains(TextKey(collection)))
    // What is watched does not wait: it may have gone there just before the peer's filter was made.
    if !isWatched {
      guard isNew || hasLeft, try tells(event: change.id, of: collection) else { return nil }
    }
    let hash = Fingerprint.hash(id: change.id.bytes.span.bytes, summary: summary)
    return DocumentOffer(cleared, item: DocumentHash(id: change.id, hash: hash))
  }

  /// Makes offers when all that was queued before them has gone out: of what is yet to come the peer would not know.
  func send(_ offers: [DocumentOffer]) {
    guard !offers.isEmpty else { return }
    waitingOffers.append(offers, until: queue.taken)
    sendOffers()
  }

  /// Makes the offers whose time has come.
  func sendOffers() {
    while let offers = waitingOffers.removeFirst(where: { queue.gone.covers($0) }) { sendNow(offers) }
  }

  /// Whether the peer needs no answer to a document that it sent, as it comes to the same as this one by itself.
  ///
  /// It is told what that is, when there is nothing else to do: where removals were forgotten it may come to something
  /// else.
  func isMet(_ request: DocumentRequest, _ key: DocumentKey, _ source: Source) -> Bool {
    guard let begun = request.begun, let hash = underWay.meeting(key, begunWith: begun),
      let cleared = gatekeeper?.clear(source.collection.name)
    else { return false }
    SyncPoint.metUnderWay.reached()
    met.note(
      DocumentOffer(cleared, item: DocumentHash(id: request.id, hash: hash)), of: key, now: context.now)
    return true
  }

  /// Tells what both peers came to, when all else is done, or when that is too much to wait with.
  func sendMet() {
    guard !met.isEmpty else { return }
    let isQuiet =
      requests.isEmpty && log.walk == nil
      && (queue.isConfirmed || context.now >= met.since + .seconds(1))
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
