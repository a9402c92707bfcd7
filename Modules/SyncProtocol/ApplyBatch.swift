import CRDTCore
public import DocStore
import Failpoints

/// Groups of documents from the peer, for one write transaction.
public struct ApplyBatch: Sendable {
  /// Names the batch in `Session.applied`.
  public let ticket: UInt64
  let groups: [IncomingGroup]
  /// Who sent them.
  let sender: SiteID
  /// How far this peer had followed the sender before these groups, to be kept with them.
  let cursor: [UInt8]?
  /// The store's count of evictions when the session began, before anything was asked for.
  private let evictionEpoch: UInt64
  /// Documents that are no longer wanted here.
  let leaving: [EvictionScheduler.Candidate]
  private let shared: SessionShared
  /// After so many bytes of records the rest is left.
  private let recordBytes: Int
  /// Collections of which documents come in.
  private let accepted: Set<TextKey>
  /// Pieces of large groups to be put aside.
  private let pieces: [StagedPiece]
  /// What was put aside and is of no more use.
  private let forgotten: [StagingGarbage.Item]

  init(
    ticket: UInt64, groups: [IncomingGroup], sender: SiteID, cursor: [UInt8]? = nil,
    evictionEpoch: UInt64 = 0, leaving: [EvictionScheduler.Candidate] = [], accepted: Set<TextKey> = [],
    pieces: [StagedPiece] = [], forgotten: [StagingGarbage.Item] = [], for context: SessionContext
  ) {
    self.ticket = ticket
    self.groups = groups
    self.sender = sender
    self.cursor = cursor
    self.evictionEpoch = evictionEpoch
    self.leaving = leaving
    shared = context.shared
    recordBytes = context.tuning.applyRecordBytes
    self.accepted = accepted
    self.pieces = pieces
    self.forgotten = forgotten
  }

  /// Documents in all groups.
  public var documentCount: Int { groups.reduce(0) { $0 + $1.documentCount } }

  /// Merges the groups, each whole or not at all, as far as one transaction goes.
  ///
  /// Few bytes may change large documents often: when `SyncTuning.applyRecordBytes` bytes of records were read and
  /// written, the other groups are left for the next batch, and the outcome says so. A group that builds on what is not
  /// here is left out, and the outcome says that too. A document whose record is damaged here is passed over.
  ///
  /// - Throws: `malformed` for a document that is none; what the store throws. The transaction must then not be
  ///   committed.
  public func apply(in transaction: WriteTransaction) throws -> ApplyOutcome {
    var outcome = ApplyOutcome()
    transaction.noteSender(sender)
    if let cursor { try transaction.setCursor(cursor, of: sender) }
    let hasLeft = try transaction.hasLeavingNotes()
    for item in forgotten { try item.forget(in: transaction) }
    var first: IncomingGroup?
    for (index, group) in groups.enumerated() {
      if index > 0, transaction.recordBytes >= recordBytes { break }
      outcome.groups = index + 1
      let isJoined = first.map { group.changesOnly(documentsOf: $0) } ?? false
      if !isJoined { first = group }
      let group = hasLeft ? try shared.leaves.without(left: group, in: transaction) : group
      let (changed, missing) = (outcome.changedDocuments, outcome.missing.count)
      // What changes the same documents once more is one change of them, with one state before and one after.
      if !isJoined { try transaction.beginGroup() }
      if group.part != nil {
        guard let step = group.step, try take(group, step, in: transaction, &outcome) else { continue }
      } else {
        try GroupMerge(group, in: transaction, hasLeft: hasLeft).run(&outcome)
      }
      if outcome.changedDocuments == changed, outcome.missing.count == missing { outcome.known.insert(index) }
    }
    for piece in pieces { try piece.put(in: transaction) }
    if !groups.isEmpty {
      let owed = Set(outcome.owed.map { DocumentName(collection: $0.version.collection, id: $0.version.id) })
      try shared.leaves.look(at: transaction, hasEvicted: transaction.evictionEpoch != evictionEpoch) {
        !owed.contains($0)
      }
    }
    try shared.leaves.evict(leaving, in: transaction)
    outcome.hasMetLaterSelf = transaction.hasMetLaterSelf
    return outcome
  }
}

extension ApplyBatch {
  /// Puts a part of a large group aside, or publishes the whole with the last one.
  ///
  /// Where there is no room for all parts, not even when those go that earlier links have brought, the ones that are
  /// here become visible, and each that follows.
  ///
  /// - Returns: Whether anything was to be merged.
  private func take(
    _ group: IncomingGroup, _ step: ComponentStep, in transaction: WriteTransaction,
    _ outcome: inout ApplyOutcome
  ) throws -> Bool {
    let components = shared.components
    if step.part.part == 0 { try transaction.unstage(step.id) }
    // What was accepted when it came in may not be any more.
    var group = group
    group.removeDocuments { !accepted.contains($0.collection) }
    let component = StagedComponent(
      step.id, accepts: { accepted.contains($0) },
      select: { try shared.leaves.without(left: $0, in: transaction) })
    guard !components.isTorn(step.id), !SyncDefect.componentPublishedInParts.isPlanted else {
      try component.publish(with: group, in: transaction, &outcome)
      return true
    }
    if !step.part.isLast {
      if try put(group, step, component, in: transaction) { return false }
      components.noteTorn(step.id)
    }
    guard try component.isWhole(before: step.part.part, in: transaction),
      try component.isIntact(in: transaction)
    else {
      // What came in so long ago is forgotten, or its session is, or it was damaged.
      try transaction.unstage(step.id)
      outcome.hasLostParts = true
      return false
    }
    if step.part.isLast { components.finish(step.id) }
    if !step.part.isLast { outcome.torn = try component.extent(with: group, in: transaction) }
    SyncPoint.stagedPublished.reached()
    try component.publish(with: group, in: transaction, &outcome)
    return true
  }

  /// Puts a part aside, if need be in the place of what earlier links have brought.
  private func put(
    _ group: IncomingGroup, _ step: ComponentStep, _ component: StagedComponent,
    in transaction: WriteTransaction
  ) throws -> Bool {
    if try component.put(group, as: step.part.part, from: sender, in: transaction) { return true }
    let forgotten = try StagedComponent.makeRoom(transaction, except: shared.components.isUsed)
    shared.stage.forget(forgotten)
    return try !forgotten.isEmpty && component.put(group, as: step.part.part, from: sender, in: transaction)
  }
}

/// What applying a batch came to.
public struct ApplyOutcome: Sendable {
  /// How many groups were looked at; the others are to be applied by the next batch.
  var groups = 0
  /// Documents that are not as they were before.
  public internal(set) var changedDocuments = 0
  /// Places of the groups that were applied and changed nothing.
  var known: Set<Int> = []
  /// Documents that the store did not take, such as those from the far future.
  var refusedDocuments = 0
  /// Documents that would be more, merged with those here, than a document may be.
  var exceeding: Set<ExceedingDocument> = []
  /// The groups left out, as what to ask for in their place.
  var missing: [[DocumentVersion]] = []
  /// Documents that came to the peer's version by a delta, and to another content, or without what was let go of here:
  /// they are asked for whole.
  var differing: [DocumentVersion] = []
  /// Documents of which the peer, as of its delta, lacks something.
  var owed: [OwedDocument] = []
  /// Records that nothing can be merged with.
  var damaged: Set<DamagedRecord> = []
  /// What had come of a group when there was no room for more of its parts.
  var torn: GroupExtent?
  /// Whether parts of a group were forgotten before the last one came: it is to be looked for.
  var hasLostParts = false
  /// Whether a write of this store's site came in that this store has not made.
  var hasMetLaterSelf = false

  public init() {}
}

extension ApplyOutcome {
  mutating func note(_ error: DocumentError, of id: DocumentID, in collection: String) {
    exceeding.insert(ExceedingDocument(collection: collection, id: id, reason: error.message))
  }
}

/// A document that cannot be merged with the one here: both together are more than a document may be.
struct ExceedingDocument: Hashable, Sendable {
  @TextKey private(set) var collection: String
  let id: DocumentID
  /// What would be too much.
  @TextKey private(set) var reason: String
}

/// A document of which there is more here than the peer announced, or other content.
struct OwedDocument: Sendable {
  /// What the peer has of it.
  let version: DocumentVersion
  /// Whether the peer holds it under its own interest.
  let isHeld: Bool
  /// Hashes of what stood here and of what came of it, where both are known.
  let merged: (before: UInt64, after: UInt64)?
}
