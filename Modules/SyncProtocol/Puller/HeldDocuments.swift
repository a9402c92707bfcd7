import CRDTCore
import DocStore

/// The documents in the store that match this peer's own interest.
struct HeldDocuments: ReconcilingSet {
  private let puller: Puller

  init(_ puller: Puller) { self.puller = puller }

  private var context: SessionContext { puller.context }

  func advance(_ scan: inout RangeScan, budget: inout Int) throws(SyncError) {
    try context.advance(&scan, puller.pull.interest, budget: &budget)
  }

  func lacking(
    _ items: ArraySlice<DocumentHash>, of collection: String
  ) throws(SyncError) -> [DocumentWant] {
    let gatekeeper = context.gatekeeper
    let (leaves, kind) = (context.shared.leaves, context.peer?.kind)
    return try context.read { snapshot in
      let known = try snapshot.collection(collection)
      let hasLeft = try snapshot.hasLeavingNotes()
      let sites = snapshot.sites
      var wants: [DocumentWant] = []
      for item in items {
        var version = DocumentVersion(collection: collection, id: item.id)
        var isSame = false
        var isReadable = gatekeeper?.mayRead(collection, item.id) ?? false
        if gatekeeper?.dependsOnFields(of: collection) ?? false { isReadable = false }
        if let known {
          // A damaged record cannot be merged with, so nothing is requested.
          try snapshot.visitIntactRecord(
            known, item.id,
            damaged: {
              isSame = true
              context.reportDamage(named: $0)
            }
          ) { _, record, summary in
            isSame = Fingerprint.hash(id: item.id.bytes.span.bytes, summary: summary) == item.hash
            isReadable = gatekeeper?.mayRead(known, item.id.bytes.span.bytes, record) ?? false
            if !isSame { version.vector = try record.vector(sites: sites) }
          }
          if hasLeft, !isSame, version.vector.isEmpty,
            let note = try snapshot.leavingNote(for: item.id, in: known),
            let left = leaves.vectorLeft(note, in: collection, from: kind)
          {
            version.vector = left
            if case .withdrawn(_, let hash) = LeavingState(note) { isSame = hash == item.hash }
          }
        }
        if !isSame { wants.append(DocumentWant(version, isReadable: isReadable, gatekeeper)) }
      }
      return wants
    }
  }

  func differing(
    _ items: ArraySlice<DocumentHash>, of collection: String
  ) throws(SyncError) -> [DocumentWant] {
    try puller.differing(items.map { (collection, $0) })
  }

  func leftovers(
    of range: KeyRange, without listed: Set<DocumentID>, from start: [UInt8], budget: inout Int
  ) throws(SyncError) -> (haves: [DocumentHave], next: [UInt8]?) {
    var left = budget
    var next: [UInt8]?
    let gatekeeper = context.gatekeeper
    let found: [DocumentHave] = try context.read { snapshot in
      var found: [DocumentHave] = []
      guard let collection = try snapshot.collection(range.collection),
        let matcher = puller.pull.interest.matcher(for: collection)
      else { return found }
      let sites = snapshot.sites
      try snapshot.forEachIntactRecord(
        in: collection, from: start, to: range.to.isEmpty ? nil : range.to, damaged: context.reportDamaged
      ) { _, id, summary, record in
        guard left > 0 else {
          next = id.copied
          return false
        }
        left -= 1
        guard matcher.matches(id, record) else { return true }
        let key = DocumentID(trusted: id.copied)
        guard !listed.contains(key) else { return true }
        guard let cleared = gatekeeper?.clear(collection, id, record) else {
          return gatekeeper?.maySend(range.collection) ?? false
        }
        found.append(
          DocumentHave(
            cleared, id: key, hash: Fingerprint.hash(id: id, summary: summary),
            vector: try record.vector(sites: sites)))
        // A notice costs more than a visit without one, so it counts as eight records.
        left -= 7
        return true
      }
      return found
    }
    budget = left
    return (found, next)
  }

  func clear(_ collection: String) -> Cleared? { context.gatekeeper?.clear(gathered: collection) }

  var hasOtherPeers: Bool { context.shared.pulls.hasOthers(than: context.id) }

  func mayAskForAll(of collection: String, count: UInt64?) -> Bool {
    puller.bulk.mayAsk(for: collection, count: count)
  }

  func reportsOneByOne(
    _ leftovers: UInt64, of collection: String, facing others: UInt64
  ) throws(SyncError) -> Bool {
    try puller.noticeExchange.reportsOneByOne(leftovers, of: collection, facing: others)
  }
}
