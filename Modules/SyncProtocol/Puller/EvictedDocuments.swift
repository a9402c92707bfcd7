import CRDTCore
import DocStore

/// A document's collection and id, valid at every peer.
struct DocumentName: Hashable {
  @TextKey private(set) var collection: String
  let id: DocumentID
}

/// The documents that this peer evicts during a session, until the sender's state of them is known.
///
/// They are restored under a live subscription, in the sender's final state. The sender may still apply
/// changes that this peer sent before the eviction, and assumes that this peer holds them. So this peer
/// requests evicted documents again once nothing is in flight. When one returns, it sends a notice with the
/// state.
final class EvictedDocuments {
  private let context: SessionContext
  private let pull: PullState
  /// The store's count of evictions when the session began.
  var epoch: UInt64 = 0
  /// Documents to request again once nothing is in flight to the sender.
  private var before: [DocumentName] = []
  /// Collections from which documents were evicted while this peer did not subscribe to them.
  ///
  /// Changes to those documents may be in flight to the sender, which then assumes that this peer holds them.
  /// That stays wrong even if this peer subscribes before the changes arrive.
  private var unwanted: Set<TextKey> = []
  /// Evicted documents for which this peer sends a notice when they return.
  private var awaited: Set<DocumentName> = []
  /// Awaited documents that have returned in earlier segments of a large transaction.
  private var returning: [DocumentName] = []

  init(_ pull: PullState) {
    context = pull.context
    self.pull = pull
  }

  /// The number of documents to request again.
  var count: Int { before.count }

  /// Records evictions in collections to which this peer does not subscribe.
  ///
  /// Those of documents that the sender may not read do not count: it could see what follows from them.
  func noteUnwanted(_ commit: Commit) {
    for change in commit.changes where change.kind == .evict && !pull.interest.covers(change.collection.name)
    {
      let name = change.collection.name
      if context.gatekeeper?.mayRead(name, change.id) ?? true { unwanted.insert(name) }
    }
  }

  /// Compares a collection again once nothing is in flight: a document was evicted that may not be named.
  func note(unnamedIn collection: String) { unwanted.insert(TextKey(collection)) }

  /// Schedules a request for an evicted document whose name may not be disclosed now.
  func note(_ name: DocumentName) { before.append(name) }

  /// Requests evicted documents, and again once nothing is in flight to the sender.
  func evict(_ wants: [DocumentWant]) {
    ask(forEvicted: wants)
    noteEvicted(wants)
  }

  /// Schedules another request for evicted documents, for when nothing is in flight to the sender.
  func noteEvicted(_ wants: [DocumentWant]) {
    for want in wants {
      let name = DocumentName(collection: want.collection, id: want.id)
      if awaited.count < context.tuning.evictedDocuments { awaited.insert(name) }
      before.append(name)
    }
  }

  private func ask(forEvicted wants: [DocumentWant]) {
    guard !wants.isEmpty else { return }
    if wants.count > context.tuning.evictedDocuments {
      for want in wants { pull.due.add(want.collection) }
    } else {
      pull.sendWants(wants, reconciliation: 0, isTransaction: true)
    }
  }

  /// Requests evicted documents again, now that nothing is in flight to the sender.
  func askAgain() throws(SyncError) {
    for name in unwanted where pull.interest.covers(name.text) { pull.due.add(name.text) }
    unwanted = []
    guard !before.isEmpty, !pull.isBeginning else { return }
    var seen: Set<DocumentName> = []
    let names = before.filter { pull.mayReport($0) && seen.insert($0).inserted }
    // Documents whose names may no longer be disclosed are found by reconciliation.
    for name in before where !pull.mayReport(name) { pull.due.add(name.collection) }
    before = []
    ask(forEvicted: try wants(forEvicted: names))
  }

  /// Returns requests for evicted documents, with the versions that have returned since.
  ///
  /// It leaves out documents that were evicted because they left the subscriptions.
  func wants(forEvicted names: [DocumentName]) throws(SyncError) -> [DocumentWant] {
    guard !names.isEmpty else { return [] }
    let (leaves, kind) = (context.shared.leaves, context.peer?.kind)
    let wanted = try context.read { snapshot in
      guard try snapshot.hasLeavingNotes() else { return names }
      return try names.filter { name in
        guard let collection = try snapshot.collection(name.collection) else { return true }
        let note = try snapshot.leavingNote(for: name.id, in: collection)
        return leaves.vectorLeft(note, in: name.collection, from: kind) == nil
      }
    }
    return try states(of: wanted).map { name, state in
      DocumentWant(
        DocumentVersion(
          collection: name.collection, id: name.id, vector: state?.vector ?? VersionVector()),
        isHeld: state?.isMatch ?? false,
        isReadable: state.map(\.isReadable) ?? mayAsk(for: name), context.gatekeeper)
    }
  }

  /// Sends notices of documents in applied transactions that were evicted before.
  func reportReturned(_ transactions: [IncomingTransaction]) throws(SyncError) {
    guard !awaited.isEmpty || !returning.isEmpty else { return }
    var names: [DocumentName] = []
    for transaction in transactions {
      transaction.forEachName { collection, id in
        let name = DocumentName(collection: collection, id: id)
        // Only once: a second return is an answer to this notice.
        if awaited.remove(name) != nil { returning.append(name) }
      }
      // The segments of a large transaction become visible with the last one.
      guard transaction.step?.segment.isLast ?? true else { continue }
      names += returning
      returning = []
    }
    guard !names.isEmpty else { return }
    pull.sendHaves(try haves(of: names), reconciliation: 0)
  }

  /// Returns notices of those documents that are held under the interest, or of all that are here.
  func haves(of names: [DocumentName], matchingOnly: Bool = true) throws(SyncError) -> [DocumentHave] {
    var notices: [DocumentHave] = []
    for (name, state) in try states(of: names) {
      guard let state, state.isMatch || !matchingOnly else { continue }
      if let cleared = context.gatekeeper?.clear(name.collection, all: state.isReadable) {
        notices.append(DocumentHave(cleared, id: name.id, hash: state.hash, vector: state.vector))
      } else if !pull.mayReport(name.collection) {
        pull.due.add(name.collection)
      }
    }
    return notices
  }

  private struct HeldState {
    let vector: VersionVector
    let hash: UInt64
    let isMatch: Bool
    /// Whether the sender may read it.
    let isReadable: Bool
  }

  /// Whether the sender may hear the name of a document that is not stored here.
  private func mayAsk(for name: DocumentName) -> Bool {
    context.gatekeeper?.mayRead(name.collection, name.id) ?? false
  }

  /// Returns the current states of documents; `nil` for one that is not stored here.
  private func states(of names: [DocumentName]) throws(SyncError) -> [(DocumentName, HeldState?)] {
    let (interest, gatekeeper) = (pull.interest, context.gatekeeper)
    return try context.read { snapshot in
      let sites = snapshot.sites
      return try names.map { name in
        guard let collection = try snapshot.collection(name.collection) else { return (name, nil) }
        let matcher = interest.matcher(for: collection)
        var state: HeldState?
        try snapshot.visitIntactRecord(collection, name.id, damaged: context.reportDamaged) {
          _, record, summary in
          let id = name.id.bytes.span.bytes
          state = HeldState(
            vector: try record.vector(sites: sites), hash: Fingerprint.hash(id: id, summary: summary),
            isMatch: matcher?.matches(id, record) ?? false,
            isReadable: gatekeeper?.mayRead(collection, id, record) ?? false)
        }
        return (name, state)
      }
    }
  }
}
