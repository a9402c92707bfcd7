import CRDTCore
import DocStore
import Failpoints

/// Offers of documents that are not sent.
///
/// Such a document does not match the interest while the peer may hold a copy that does, or both peers
/// changed it and merge.
extension Pusher {
  /// Returns an offer of a document that is too large to be sent whole: a peer with a copy requests what it
  /// lacks.
  func offer(oversize change: Change, _ summary: Summary) -> DocumentOffer? {
    guard let cleared = gatekeeper?.clear(change.collection.name) else { return nil }
    let id = change.id
    return DocumentOffer(
      cleared, item: DocumentHash(id: id, hash: Fingerprint.hash(id: id.bytes.span.bytes, summary: summary)))
  }

  /// Returns an offer of a change to a state that does not match, if the peer may hold a copy that does.
  ///
  /// The change came from the peer itself where it `isOwn`.
  func offer(
    _ change: Change, _ summary: Summary, matched: Bool, isOwn: Bool
  ) throws(SyncError) -> DocumentOffer? {
    let collection = change.collection.name
    guard let cleared = gatekeeper?.clear(collection) else { return nil }
    let isLeading = telling.isLeading(collection)
    // If the peer relies on this one, the author does not matter: the peer may evict the document and later
    // get an older copy from another peer.
    if isOwn, !isLeading { return nil }
    let isNew = change.before == nil || !isOwn && !matched && (log.isResumed || watch.isBlind)
    let hasLeft = matched && isLeading && !SyncDefect.leaverNotOffered.isPlanted
    let isWatched =
      !isOwn && !matched && (watch.contains(change.key) || unnamed.contains(TextKey(collection)))
    // A possible holder is told immediately: the document may have arrived there just before the peer made
    // its filter.
    if !isWatched {
      guard isNew || hasLeft, try telling.tells(event: change.id, of: collection) else { return nil }
    }
    let hash = Fingerprint.hash(id: change.id.bytes.span.bytes, summary: summary)
    return DocumentOffer(cleared, item: DocumentHash(id: change.id, hash: hash))
  }

  /// Sends offers once everything queued before them is sent.
  func send(_ offers: [DocumentOffer]) {
    if !offers.isEmpty { queue.add(.offers(offers), documents: offers.count) }
  }

  /// Whether the peer needs no answer to a document that it sent, since it converges on this state by
  /// itself.
  ///
  /// The state is offered later, when the link is idle: if tombstones were forgotten, the peer may reach
  /// another state.
  func isMet(_ request: DocumentRequest, _ key: DocumentKey, _ source: Source) -> Bool {
    guard request.isReply, case .met(let hash) = motion.judge(key, hash: 0, seen: request.seen),
      let cleared = gatekeeper?.clear(source.collection.name)
    else { return false }
    SyncPoint.metInMotion.reached()
    motion.noteConverged(
      DocumentOffer(cleared, item: DocumentHash(id: request.id, hash: hash)), of: key, now: context.now)
    return true
  }

  /// Offers the converged states for verification when the session is idle, or when they are too old or too
  /// many.
  func sendMet() {
    guard motion.convergedCount > 0 else { return }
    let isQuiet =
      requests.isEmpty && log.walk == nil
      && (queue.isConfirmed || context.now >= motion.convergedSince + .seconds(1))
    if isQuiet || motion.convergedCount >= context.tuning.waitingOffers / 2 { send(motion.takeConverged()) }
  }

  func sendNow(_ offers: [DocumentOffer]) {
    let cleared = offers.filter { gatekeeper?.maySend($0.collection) ?? false }
    for part in cleared.parts(of: 48 << 10, size: { $0.item.id.bytes.count + $0.collection.utf8.count + 12 })
    {
      context.send(.offer) { DocumentOffer.encode(Array(part), to: &$0) }
    }
  }
}
