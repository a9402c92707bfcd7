import CRDTCore
import DocStore

/// A document's name at any peer.
struct DocumentName: Hashable {
  @TextKey private(set) var collection: String
  let id: DocumentID
}

/// What this peer evicts while it syncs, until it is known what becomes of it.
struct EvictedDocuments {
  /// The store's count of evictions when the session began.
  var epoch: UInt64 = 0
  /// What is asked for once more when nothing is on its way to the sender.
  var before: [DocumentName] = []
  /// Collections of which documents were evicted that nobody here asked for then: what of them is on its way to the
  /// sender it takes for known here, also when it is asked for before it has arrived.
  var unwanted: Set<TextKey> = []
  /// Documents whose return is told.
  var awaited: Set<DocumentName> = []
  /// Those that are back with the last part of a group.
  var returning: [DocumentName] = []
}

/// What this peer evicts under a live subscription comes back, in the state that the sender has in the end.
///
/// The sender may yet have to apply what this peer sent before it evicted, and takes that for known here. So
/// what was evicted while anything was on its way is asked for again when nothing is, and what comes back of it is
/// told with its state.
extension Puller {
  func evict(_ wants: [DocumentWant]) {
    ask(forEvicted: wants)
    noteEvicted(wants)
  }

  /// Has what was evicted asked for when nothing is on its way to the sender.
  func noteEvicted(_ wants: [DocumentWant]) {
    for want in wants {
      let name = DocumentName(collection: want.collection, id: want.id)
      if evicted.awaited.count < context.tuning.evictedDocuments { evicted.awaited.insert(name) }
      evicted.before.append(name)
    }
  }

  private func ask(forEvicted wants: [DocumentWant]) {
    guard !wants.isEmpty else { return }
    if wants.count > context.tuning.evictedDocuments {
      for want in wants { due.add(want.collection) }
    } else {
      sendWants(wants, round: 0, isGroup: true)
    }
  }

  /// Asks once more for what was evicted, now that the sender has all that was on its way to it.
  func askAgain() throws(SyncError) {
    for name in evicted.unwanted where interest.covers(name.text) { due.add(name.text) }
    evicted.unwanted = []
    guard !evicted.before.isEmpty, !isBeginning else { return }
    var seen: Set<DocumentName> = []
    let names = evicted.before.filter { mayTell($0.collection) && seen.insert($0).inserted }
    // What may not be named any more is found by comparing.
    for name in evicted.before where !mayTell(name.collection) { due.add(name.collection) }
    evicted.before = []
    ask(forEvicted: try wants(forEvicted: names))
  }

  /// What to ask for in place of what was evicted, quoting what has come back since.
  ///
  /// What left the subscriptions is not wanted back.
  func wants(forEvicted names: [DocumentName]) throws(SyncError) -> [DocumentWant] {
    guard !names.isEmpty else { return [] }
    let leaves = context.shared.leaves
    let wanted = try context.read { transaction in
      guard try transaction.hasLeavingNotes() else { return names }
      return try names.filter { name in
        guard let collection = try transaction.collection(name.collection) else { return true }
        let note = try transaction.leavingNote(for: name.id, in: collection)
        return leaves.vectorLeft(note, in: name.collection) == nil
      }
    }
    return try states(of: wanted).map { name, state in
      DocumentWant(
        DocumentVersion(
          collection: name.collection, id: name.id, vector: state?.vector ?? VersionVector()),
        isHeld: state?.isMatch ?? false, context.gatekeeper)
    }
  }

  /// Tells of the documents of applied groups that were evicted before.
  func tellReturned(_ groups: [IncomingGroup]) throws(SyncError) {
    guard !evicted.awaited.isEmpty || !evicted.returning.isEmpty else { return }
    var names: [DocumentName] = []
    for group in groups {
      group.forEachName { collection, id in
        let name = DocumentName(collection: collection, id: id)
        // Once: a second return is an answer to this notice.
        if evicted.awaited.remove(name) != nil { evicted.returning.append(name) }
      }
      // A part is not here before the last one is.
      guard group.step?.part.isLast ?? true else { continue }
      names += evicted.returning
      evicted.returning = []
    }
    guard !names.isEmpty else { return }
    sendHaves(try haves(of: names), round: 0)
  }

  /// Notices of what is held under the interest of some documents.
  func haves(of names: [DocumentName]) throws(SyncError) -> [DocumentHave] {
    var notices: [DocumentHave] = []
    for (name, state) in try states(of: names) {
      guard let state, state.isMatch else { continue }
      if let cleared = context.gatekeeper?.clear(name.collection) {
        notices.append(DocumentHave(cleared, id: name.id, hash: state.hash, vector: state.vector))
      } else {
        due.add(name.collection)
      }
    }
    return notices
  }

  private struct HeldState {
    let vector: VersionVector
    let hash: UInt64
    let isMatch: Bool
  }

  /// What is held here now of documents; `nil` for one that is unknown.
  private func states(of names: [DocumentName]) throws(SyncError) -> [(DocumentName, HeldState?)] {
    let interest = interest
    return try context.read { transaction in
      let sites = transaction.sites
      return try names.map { name in
        guard let collection = try transaction.collection(name.collection) else { return (name, nil) }
        let matcher = interest.matcher(for: collection)
        var state: HeldState?
        try transaction.visitIntactRecord(collection, name.id, damaged: context.tellDamaged) {
          _, record, summary in
          let id = name.id.bytes.span.bytes
          state = HeldState(
            vector: try record.vector(sites: sites), hash: Fingerprint.hash(id: id, summary: summary),
            isMatch: matcher?.matches(id, record) ?? false)
        }
        return (name, state)
      }
    }
  }
}
