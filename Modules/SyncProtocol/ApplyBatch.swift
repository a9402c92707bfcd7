import CRDTCore
public import DocStore

/// Groups of documents from the peer, for one write transaction.
public struct ApplyBatch: Sendable {
  /// Names the batch in `Session.applied`.
  public let ticket: UInt64
  let groups: [IncomingGroup]

  init(ticket: UInt64, groups: [IncomingGroup]) {
    self.ticket = ticket
    self.groups = groups
  }

  /// Documents in all groups.
  public var documentCount: Int { groups.reduce(0) { $0 + $1.documents.count } }

  /// Merges the groups, each whole or not at all.
  ///
  /// A group that builds on what is not here is left out, and the outcome says so.
  ///
  /// - Throws: `malformed` for a document that is none; what the store throws. The transaction must then not be
  ///   committed.
  public func apply(in transaction: WriteTransaction) throws -> ApplyOutcome {
    var outcome = ApplyOutcome()
    var collections: [String: Collection] = [:]
    for group in groups {
      try transaction.beginGroup()
      let known = try group.documents.map { document in
        if collections[document.collection] == nil {
          collections[document.collection] = try transaction.collection(document.collection)
        }
        return try collections[document.collection].flatMap {
          try transaction.knowledge(of: document.id, in: $0)
        }
      }
      let isComplete = zip(group.documents, known).allSatisfy { document, known in
        switch document.basis {
        case .vectors(let base, _): base.isEmpty || known?.vector.dominates(base) == true
        case .state(let step): known.map { step.fits($0.summary) } ?? false
        }
      }
      if isComplete {
        for (document, known) in zip(group.documents, known) {
          try merge(document, of: group, onto: known, in: transaction, &outcome)
        }
      } else {
        outcome.missing.append(
          zip(group.documents, known).map { document, known in document.version(known) })
      }
    }
    return outcome
  }

  private func merge(
    _ document: IncomingDocument, of group: IncomingGroup, onto known: Knowledge?,
    in transaction: WriteTransaction, _ outcome: inout ApplyOutcome
  ) throws {
    let wire = group.block.span.bytes.extracting(document.wire)
    let result: MergeResult
    let isRepair = document.isWhole(of: known?.vector)
    if isRepair { Probe.reached(.repaired) }
    do {
      result =
        isRepair
        ? try transaction.repair(wire: wire, id: document.id, in: document.collection)
        : try transaction.merge(wire: wire, id: document.id, in: document.collection)
    } catch {
      // Tells a document that is damaged on the wire from one that is damaged here.
      do throws(CodecError) {
        try WireDocument.validate(wire)
      } catch {
        throw SyncError(error, in: "a document of \(document.collection)", base: 0)
      }
      throw error
    }
    if result == .changed { outcome.changedDocuments += 1 }
    // Another state of the same name, or a peer that lies: it is to send what is lacking here.
    if result == .missingBase { outcome.missing.append([document.version(known)]) }
    // After a successor both have the same state.
    guard let known, case .vectors(_, let vector) = document.basis else { return }
    // Default data has no vector, so that a difference in it shows only when it is sent back.
    let isDefault = vector.isEmpty && !document.isReply
    guard isDefault || known.isCertified || !vector.dominates(known.vector) else { return }
    outcome.owed.append(
      OwedDocument(
        version: DocumentVersion(collection: document.collection, id: document.id, vector: vector),
        isHeld: document.isHeld))
  }
}

/// What applying a batch came to.
public struct ApplyOutcome: Sendable {
  /// Documents that are not as they were before.
  public internal(set) var changedDocuments = 0
  /// The groups left out, as what to ask for in their place.
  var missing: [[DocumentVersion]] = []
  /// Documents of which the peer, as of its delta, lacks something.
  var owed: [OwedDocument] = []

  public init() {}
}

/// A document of which there is more here than the peer announced.
struct OwedDocument: Sendable {
  /// What the peer has of it.
  let version: DocumentVersion
  /// Whether the peer holds it under its own interest.
  let isHeld: Bool
}

extension WriteTransaction {
  /// What is known of a document, which may be deleted; `nil` when it is unknown here.
  fileprivate func knowledge(of id: DocumentID, in collection: Collection) throws -> Knowledge? {
    let sites = sites
    return try withRecord(collection, id) { record, summary in
      let vector = try record.vector(sites: sites)
      return Knowledge(vector: vector, summary: summary, isCertified: !record.isAlive && vector.isEmpty)
    }
  }
}

/// What stood here of a document that a peer sends.
fileprivate struct Knowledge {
  let vector: VersionVector
  let summary: Summary
  /// Whether only the time of its deletion was known, which no vector tells the peer.
  let isCertified: Bool
}

extension IncomingDocument {
  /// What is known here of it, to be quoted when it is asked for.
  fileprivate func version(_ known: Knowledge?) -> DocumentVersion {
    DocumentVersion(collection: collection, id: id, vector: known?.vector ?? VersionVector())
  }

  /// Whether it is a whole document of that vector.
  fileprivate func isWhole(of known: VersionVector?) -> Bool {
    guard case .vectors(let base, let vector) = basis else { return false }
    return base.isEmpty && known == vector
  }
}
