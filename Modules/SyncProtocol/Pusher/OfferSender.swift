import CRDTCore
import DocStore
import Failpoints

/// Offers documents that are stored here and not sent.
///
/// Such a document does not match the interest while the peer may hold a copy that does, or both peers
/// changed it and merge.
final class OfferSender {
  let context: SessionContext
  let peer: ServedPeer
  let queue: SendQueue
  /// The rule that decides which peer offers the documents that are stored here and not sent.
  private(set) lazy var noticeExchange = NoticeExchange(.offers, OfferNotices(self), context)

  init(_ peer: ServedPeer, _ queue: SendQueue) {
    context = peer.context
    self.peer = peer
    self.queue = queue
  }

  /// Returns an offer of a document that is too large to be sent as a full state.
  ///
  /// A peer with a copy requests what it lacks.
  func offer(oversize change: Change, _ summary: Summary) -> DocumentOffer? {
    guard let cleared = clear(change) else { return nil }
    let id = change.id
    return DocumentOffer(
      cleared, item: DocumentHash(id: id, hash: Fingerprint.hash(id: id.bytes.span.bytes, summary: summary)))
  }

  /// Returns an offer of a change to a state that does not match, if the peer may hold a copy that does.
  ///
  /// The change came from the peer itself where it `isOwn`. Where it `appears`, the peer could not read the
  /// document before.
  func offer(
    _ change: Change, _ summary: Summary, matched: Bool, isOwn: Bool, appears: Bool
  ) throws(SyncError) -> DocumentOffer? {
    let collection = change.collection.name
    guard let cleared = clear(change) else { return nil }
    let isLeading = noticeExchange.isLeading(collection)
    // If the peer relies on this one, the author does not matter: the peer may evict the document and later
    // get an older copy from another peer.
    if isOwn, !isLeading { return nil }
    let isNew = appears || !isOwn && !matched && (peer.isResumed || peer.watch.isBlind)
    let hasLeft = matched && isLeading && !SyncDefect.leaverNotOffered.isPlanted
    let isPossibleHolder =
      !isOwn && !matched && (peer.mayHold(change.key, in: collection))
    // A possible holder gets the offer immediately: the document may have arrived there just before the peer
    // made its filter.
    if !isPossibleHolder {
      guard isNew || hasLeft, try noticeExchange.reports(event: change.id, of: collection) else { return nil }
    }
    let hash = Fingerprint.hash(id: change.id.bytes.span.bytes, summary: summary)
    return DocumentOffer(cleared, item: DocumentHash(id: change.id, hash: hash))
  }

  /// Returns permission to name a document that was changed.
  private func clear(_ change: Change) -> Cleared? {
    guard let gatekeeper = context.gatekeeper, let after = change.after else { return nil }
    guard gatekeeper.dependsOnFields(of: change.collection.name), change.isErasure else {
      return gatekeeper.clear(change.collection, change.id, after)
    }
    return gatekeeper.clear(erasureIn: change.collection.name)
  }

  /// Sends offers once everything queued before them is sent.
  func send(_ offers: [DocumentOffer]) {
    if !offers.isEmpty { queue.add(.offers(offers), documents: offers.count) }
  }

  /// Sends offers now.
  func sendNow(_ offers: [DocumentOffer]) {
    let cleared = offers.filter { context.gatekeeper?.maySend($0.collection) ?? false }
    for chunk in cleared.chunks(
      of: 48 << 10, size: { $0.item.id.bytes.count + $0.collection.utf8.count + 12 })
    {
      context.send(.offer) { DocumentOffer.encode(Array(chunk), to: &$0) }
    }
  }
}
