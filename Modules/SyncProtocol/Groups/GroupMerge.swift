import CRDTCore
import DocStore
import Failpoints

/// Merges one group in a write transaction: all of it or nothing.
///
/// Whether a delta or a successor fits is certain only when it has been merged. So those are merged first and
/// kept; when all of them fit, everything is stored. A whole document always fits, and neither does it matter to
/// others whether one that is alone does: those are merged and stored at once. Each record is read once.
///
/// What is damaged here cannot be merged with: it is passed over, and the rest of its group is taken in.
struct GroupMerge {
  private let group: IncomingGroup
  private let transaction: WriteTransaction
  /// Whether documents may have been let go of here, of which notes are kept.
  private let hasLeft: Bool

  /// A document that is merged, and what stood here.
  private struct Step {
    let merge: PreparedMerge
    let known: Knowledge?
  }

  init(_ group: IncomingGroup, in transaction: WriteTransaction, hasLeft: Bool = true) {
    self.group = group
    self.transaction = transaction
    self.hasLeft = hasLeft
  }

  func run(_ outcome: inout ApplyOutcome) throws {
    var steps: [Step?] = []
    guard let runs = try prepareRuns(&outcome) else {
      SyncPoint.runLeftOut.reached()
      return outcome.missing.append(try versions(steps, &outcome))
    }
    if group.documents.count + group.runs.count > 1, group.hasDependents,
      !SyncDefect.groupStoredInParts.isPlanted,
      try !prepare(&steps, &outcome)
    {
      SyncPoint.groupLeftOut.reached()
      if SyncDefect.missingBaseIgnored.isPlanted { return }
      return outcome.missing.append(try versions(steps, &outcome))
    }
    for merges in runs {
      let merges = merges.spanOfValues
      for index in merges.indices {
        guard try transaction.store(merges[index]) else {
          throw SyncError(.malformed, "a group names a document twice")
        }
      }
      outcome.changedDocuments += merges.count
    }
    for index in group.documents.indices {
      if index < steps.count, let step = steps[index], try transaction.store(step.merge) {
        let merge = step.merge
        try note(
          merge.result, of: group.documents[index], over: step.known, merged: merge.summary, &outcome)
      } else {
        try merge(group.documents[index], &outcome)
      }
    }
  }

  /// Merges and stores one document.
  private func merge(_ document: IncomingDocument, _ outcome: inout ApplyOutcome) throws {
    var known: Knowledge?
    let wire = group.block.span.bytes.extracting(document.wire)
    let result: MergeResult
    do {
      result = try transaction.merge(
        wire: wire, basis: document.basis, id: document.id, in: document.collection, draft: document.draft
      ) { existing, sites in try document.way(over: existing, sites, &known) }
    } catch {
      if try isDamagedHere(document.id, in: document.collection, error, &outcome) { return }
      throw damage(of: wire, in: document.collection) ?? error
    }
    if result == .missingBase {
      guard group.documentCount == 1 || SyncDefect.groupStoredInParts.isPlanted else {
        throw SyncError(.malformed, "a group has contradictory forms of one document")
      }
      outcome.missing.append([try version(document, known)])
    }
    try note(result, of: document, over: known, merged: nil, &outcome)
  }

  /// Whether all that the documents build on is here.
  func hasBases(_ outcome: inout ApplyOutcome) throws -> Bool {
    for document in group.documents {
      guard case .vectors(let base, _, _) = document.basis, !base.isEmpty else { continue }
      let here = try passingDamage(document.id, in: document.collection, &outcome) {
        try transaction.version(of: document.id, in: document.collection).vector
      }
      if let here, !here.dominates(base) { return false }
    }
    return true
  }

  /// Merges the runs, and stores nothing.
  ///
  /// - Returns: What each came to that is not here already; `nil` when one of them does not fit.
  private func prepareRuns(_ outcome: inout ApplyOutcome) throws -> [[PreparedMerge]]? {
    var merges: [[PreparedMerge]] = []
    for run in group.runs {
      let result: RunMerge.Outcome
      do {
        result = try RunMerge(run: run, transaction: transaction).prepare()
      } catch let error as StoreError where error.code == .corrupt {
        // One by one those that stand can be told from those that do not.
        guard try hasDamage(run) else { throw error }
        result = .missingBase
      }
      switch result {
      case .missingBase: return nil
      case .known: break
      case .prepared(let some):
        SyncPoint.runMerged.reached()
        merges.append(some)
      }
    }
    return merges
  }

  /// Merges what may not fit, and stores nothing.
  ///
  /// - Returns: `false` as soon as something does not fit.
  private func prepare(_ steps: inout [Step?], _ outcome: inout ApplyOutcome) throws -> Bool {
    steps.reserveCapacity(group.documents.count)
    for document in group.documents {
      if document.basis.isSelfContained {
        steps.append(nil)
        continue
      }
      var known: Knowledge?
      let wire = group.block.span.bytes.extracting(document.wire)
      let merge: PreparedMerge
      do {
        merge = try transaction.prepare(
          wire: wire, basis: document.basis, id: document.id, in: document.collection
        ) { try document.way(over: $0, $1, &known) }
      } catch {
        if try isDamagedHere(document.id, in: document.collection, error, &outcome) {
          steps.append(nil)
          continue
        }
        throw damage(of: wire, in: document.collection) ?? error
      }
      steps.append(Step(merge: merge, known: known))
      if merge.result == .missingBase { return false }
    }
    return true
  }

  /// Takes note of what became of a document; `merged` is the sum of that where it has changed and that is known.
  private func note(
    _ result: MergeResult, of document: IncomingDocument, over known: Knowledge?, merged: Summary?,
    _ outcome: inout ApplyOutcome
  ) throws {
    switch result {
    case .changed:
      outcome.changedDocuments += 1
      if hasLeft, known == nil, try lacksWhatLeft(document) {
        outcome.differing.append(
          DocumentVersion(collection: document.collection, id: document.id))
      }
    case .unchanged: if !document.isKnown(known) { outcome.refusedDocuments += 1 }
    case .missingBase: break
    // The peer could not take what is here either.
    case .refused(let error): return outcome.note(error, of: document.id, in: document.collection)
    }
    // After a successor both have the same state; what did not fit is asked for.
    guard result != .missingBase, let known, case .vectors(let base, let vector, _) = document.basis else {
      return
    }
    guard !SyncDefect.debtForgotten.isPlanted else { return }
    // Default data has no vector, so that without a check a difference in it shows only when it is sent back.
    let isUnchecked = document.check == nil && !document.isReply
    let isWholeUnchecked = isUnchecked && base.isEmpty
    let isDefault = isUnchecked && vector.isEmpty || isWholeUnchecked && known.isDefault
    // It comes whole, as what is shown there mostly does, and is dead here over the same version.
    let isDeadHere = isWholeUnchecked && known.isDead && known.vector == vector
    if !isDefault, !isDeadHere, !known.isCertified, vector.dominates(known.vector ?? VersionVector()) {
      let summary = result == .unchanged ? known.summary : merged
      let isOther = try passingDamage(document.id, in: document.collection, &outcome) {
        try hasOtherContent(document, vector, summary)
      }
      guard isOther ?? false else { return }
      // By the whole of the peer's state, over the same version, both are settled: was it that already?
      guard base.isEmpty, known.vector == vector else {
        return outcome.differing.append(
          DocumentVersion(collection: document.collection, id: document.id))
      }
    }
    outcome.owed.append(
      OwedDocument(
        version: DocumentVersion(collection: document.collection, id: document.id, vector: vector),
        isHeld: document.isHeld,
        merged: merged.map { merged in
          let id = document.id.bytes.span.bytes
          return (Fingerprint.hash(id: id, summary: known.summary), Fingerprint.hash(id: id, summary: merged))
        }))
  }

  /// Whether a document that was let go of here has come in a state without what left, which was under way since before
  /// its sender had that: the sender takes it for told, and is to be asked.
  private func lacksWhatLeft(_ document: IncomingDocument) throws -> Bool {
    guard case .vectors(_, let vector, _) = document.basis,
      let collection = try transaction.collection(document.collection),
      let note = try transaction.leavingNote(for: document.id, in: collection),
      case .left(let left, _) = LeavingState(note)
    else { return false }
    return !vector.dominates(left)
  }

  /// Whether what stands here now, with `summary` where that is known, is of the version of the peer's document, and of
  /// another content.
  private func hasOtherContent(
    _ document: IncomingDocument, _ vector: VersionVector, _ summary: Summary?
  ) throws -> Bool {
    guard let check = document.check, summary?.check != check,
      let collection = try transaction.collection(document.collection)
    else {
      return false
    }
    let sites = transaction.sites
    let isOther = try transaction.withRecord(collection, document.id) { record, summary in
      guard summary.check != check else { return false }
      return try record.vector(sites: sites) == vector
    }
    return isOther ?? false
  }

  /// What is wrong with a document on the wire; `nil` where the damage is here.
  private func damage(of wire: RawSpan, in collection: String) -> SyncError? {
    do throws(CodecError) {
      try WireDocument.validate(wire)
      return nil
    } catch {
      return SyncError(error, in: "a document of \(collection)", base: 0)
    }
  }

  // MARK: - What is damaged here

  /// Runs what reads the record of a document.
  ///
  /// - Returns: `nil` where that is damaged, of which the outcome takes note.
  private func passingDamage<R>(
    _ id: DocumentID, in collection: String, _ outcome: inout ApplyOutcome, _ body: () throws -> R
  ) throws -> R? {
    do {
      return try body()
    } catch {
      guard try isDamagedHere(id, in: collection, error, &outcome) else { throw error }
      return nil
    }
  }

  /// Whether an error came of a document's record, of which the outcome takes note.
  private func isDamagedHere(
    _ id: DocumentID, in collection: String, _ error: any Error, _ outcome: inout ApplyOutcome
  ) throws -> Bool {
    guard let error = error as? StoreError, error.code == .corrupt,
      let damage = try transaction.damage(of: id, in: collection)
    else { return false }
    outcome.damaged.insert(damage)
    return true
  }

  private func hasDamage(_ run: IncomingRun) throws -> Bool {
    try run.ids.contains { try transaction.damage(of: $0, in: run.collection) != nil }
  }

  // MARK: - What to ask for

  /// What to ask for in place of the group.
  func versions(_ outcome: inout ApplyOutcome) throws -> [DocumentVersion] { try versions([], &outcome) }

  private func versions(
    _ steps: [Step?], _ outcome: inout ApplyOutcome
  ) throws -> [DocumentVersion] {
    var versions: [DocumentVersion] = []
    for run in group.runs {
      for id in run.ids {
        let version = try passingDamage(id, in: run.collection, &outcome) {
          try transaction.version(of: id, in: run.collection)
        }
        if let version { versions.append(version) }
      }
    }
    for (index, document) in group.documents.enumerated() {
      let known = index < steps.count ? steps[index]?.known : nil
      let asked = try passingDamage(document.id, in: document.collection, &outcome) {
        try version(document, known)
      }
      if let asked { versions.append(asked) }
    }
    return versions
  }

  private func version(_ document: IncomingDocument, _ known: Knowledge?) throws -> DocumentVersion {
    guard let vector = known?.vector, !vector.isEmpty else {
      return try transaction.version(of: document.id, in: document.collection)
    }
    return DocumentVersion(collection: document.collection, id: document.id, vector: vector)
  }
}

/// What stood here of a document that a peer sends.
private struct Knowledge {
  /// Only where the peer's document tells one, too.
  var vector: VersionVector?
  var summary: Summary
  var isDead = false
  /// Whether only the time of its deletion was known, which no vector tells the peer.
  var isCertified: Bool { isDead && vector?.isEmpty ?? false }
  /// Whether it was default data alone, which no vector tells it either.
  var isDefault: Bool { !isDead && vector?.isEmpty ?? false }
  /// Whether what a successor leads to stood here.
  var isSame = false
}

extension WireBasis {
  /// Whether it can be merged with whatever is here.
  var isSelfContained: Bool {
    if case .vectors(let base, _, _) = self { base.isEmpty } else { false }
  }
}

extension IncomingDocument {
  /// Whether all of it was here before; what did not change anything although it was not, was refused.
  fileprivate func isKnown(_ known: Knowledge?) -> Bool {
    guard case .vectors(_, let vector, _) = basis else { return known?.isSame ?? false }
    return vector.isEmpty || known?.isCertified == true || known?.vector?.dominates(vector) == true
  }

  /// What to do with it, and what is known of it here.
  fileprivate func way(
    over existing: StoredDocument?, _ sites: SiteTable, _ known: inout Knowledge?
  ) throws(CodecError) -> MergeWay {
    known = nil
    guard let existing else { return basis.isSelfContained ? .join : .leave }
    let record = RecordView(existing.record)
    switch basis {
    case .state(let step):
      known = Knowledge(summary: existing.summary, isSame: step.leads(to: existing.summary))
      if step.fits(existing.summary) || StoreDefect.successorNotChecked.isPlanted { return .join }
      SyncPoint.successorLeftOut.reached()
      return .leave
    case .vectors(let base, let vector, _):
      let here = try record.vector(sites: sites)
      known = Knowledge(
        vector: here, summary: existing.summary, isDead: !record.isAlive)
      guard base.isEmpty else { return here.dominates(base) ? .join : .leave }
      // A whole document also tells what is gone, though nobody may remember its removal.
      guard here == vector || !here.isEmpty, !SyncDefect.repairSkipped.isPlanted else { return .join }
      if here == vector { SyncPoint.repaired.reached() }
      return .repair
    }
  }
}

extension WriteTransaction {
  /// What is here of a document.
  fileprivate func version(of id: DocumentID, in collection: String) throws -> DocumentVersion {
    var version = DocumentVersion(collection: collection, id: id)
    guard let collection = try self.collection(collection) else { return version }
    let sites = sites
    try withRecord(collection, id) { record, _ in
      version.vector = try record.vector(sites: sites)
      version.isDefault = record.isAlive && version.vector.isEmpty
    }
    return version
  }
}
