import CRDTCore
import DocStore

/// Notices by which a sender offers the documents that it stores and does not send.
struct OfferNotices: NoticeRole {
  private unowned let offers: OfferSender

  init(_ offers: OfferSender) { self.offers = offers }

  private var context: SessionContext { offers.context }
  var interest: Interest { offers.peer.interest }
  func covers(_ collection: String) -> Bool { offers.peer.concerns(collection) }
  func isOpen(_ collection: String) -> Bool { covers(collection) }

  /// Returns about how many documents and compacted tombstones are stored here.
  func heldCount(of collection: String) throws(SyncError) -> UInt64 {
    try context.recordCount(of: collection).adding(context.certificateCount(of: collection))
  }

  /// Returns the id hashes of documents that are too large to be sent.
  ///
  /// A peer with a copy must report it, whether the documents match or not.
  func extraHashes(of collection: String) throws(SyncError) -> [UInt64] {
    let context = context
    return try context.read { snapshot in
      try snapshot.oversizeDocuments().filter { document in
        try document.collection.isSame(as: collection) && context.mayRead(document, snapshot)
      }.map { IDFilter.hash($0.id) }
    }
  }

  func notice(
    _ cleared: consuming Cleared, _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView,
    _ sites: SiteTable
  ) -> DocumentOffer {
    let hash = Fingerprint.hash(id: id, summary: summary)
    return DocumentOffer(cleared, item: DocumentHash(id: DocumentID(trusted: id.copied), hash: hash))
  }

  var noticeVisits: Int { 0 }

  /// Returns offers of those documents that do not match.
  func notices(of ids: ArraySlice<DocumentID>, in collection: String) throws(SyncError) -> [DocumentOffer] {
    let (interest, gatekeeper) = (interest, context.gatekeeper)
    return try context.read { snapshot in
      var found: [DocumentOffer] = []
      guard let known = try snapshot.collection(collection), let matcher = interest.matcher(for: known)
      else { return found }
      for id in ids {
        try snapshot.visitIntactRecord(known, id, damaged: context.reportDamaged) { _, record, summary in
          let bytes = id.bytes.span.bytes
          guard !matcher.matches(bytes, record), let cleared = gatekeeper?.clear(known, bytes, record) else {
            return
          }
          found.append(
            DocumentOffer(
              cleared, item: DocumentHash(id: id, hash: Fingerprint.hash(id: bytes, summary: summary))))
        }
      }
      return found
    }
  }

  func send(_ notices: [DocumentOffer]) { offers.send(notices) }
}
