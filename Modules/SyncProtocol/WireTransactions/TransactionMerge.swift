import CRDTCore
import DocStore
import Failpoints

/// Merges one of the peer's transactions in a write transaction: all of it or nothing.
///
/// Whether a delta or an operation delta fits is certain only after merging it. So these are merged first and
/// kept in memory, and everything is stored once all of them fit. A full state always fits, and no other
/// document depends on it, so it is merged and stored immediately. Each record is read once.
///
/// Damaged local records cannot be merged: they are skipped, and the rest of the transaction is applied.
struct TransactionMerge {
  private let transaction: IncomingTransaction
  private let write: WriteTransaction
  /// Whether documents may have been evicted here, with notes about them.
  private let hasLeft: Bool

  /// A merged document, and the state before it.
  private struct Step {
    let merge: PreparedMerge
    let known: Knowledge?
  }

  init(_ transaction: IncomingTransaction, in write: WriteTransaction, hasLeft: Bool = true) {
    self.transaction = transaction
    self.write = write
    self.hasLeft = hasLeft
  }

  func run(_ outcome: inout ApplyOutcome) throws {
    let (changed, missing) = (outcome.changedDocuments, outcome.missing.count)
    let isApplied = try apply(&outcome)
    let (nowChanged, nowMissing) = (outcome.changedDocuments, outcome.missing.count)
    check(
      .sync(4), nowMissing == missing || nowChanged == changed, phase: "applying",
      "\(nowChanged - changed) documents are stored of a transaction that lacks a base")
    check(
      .sync(4), isApplied || nowMissing > missing, phase: "applying",
      "a transaction that lacks a base is left out and not requested")
  }

  /// Applies the transaction.
  ///
  /// - Returns: `false` if it was left out.
  private func apply(_ outcome: inout ApplyOutcome) throws -> Bool {
    var steps: [Step?] = []
    guard let runs = try prepareRuns(&outcome) else {
      SyncPoint.runLeftOut.reached()
      outcome.missing.append(try versions(steps, &outcome))
      return false
    }
    if transaction.documents.count + transaction.runs.count > 1, transaction.hasDependents,
      !SyncDefect.groupStoredInParts.isPlanted,
      try !prepare(&steps, &outcome)
    {
      SyncPoint.groupLeftOut.reached()
      if SyncDefect.missingBaseIgnored.isPlanted { return false }
      outcome.missing.append(try versions(steps, &outcome))
      return false
    }
    for merges in runs {
      let merges = merges.spanOfValues
      for index in merges.indices {
        guard try write.store(merges[index]) else {
          throw SyncError(.malformed, "a group names a document twice")
        }
      }
      outcome.changedDocuments += merges.count
    }
    for index in transaction.documents.indices {
      if index < steps.count, let step = steps[index], try write.store(step.merge) {
        let merge = step.merge
        try note(
          merge.result, of: transaction.documents[index], over: step.known, merged: merge.summary, &outcome)
      } else {
        try merge(transaction.documents[index], &outcome)
      }
    }
    return true
  }

  /// Merges and stores one document.
  private func merge(_ document: IncomingDocument, _ outcome: inout ApplyOutcome) throws {
    var known: Knowledge?
    let wire = transaction.block.span.bytes.extracting(document.wire)
    let result: MergeResult
    do {
      result = try write.merge(
        wire: wire, basis: document.basis, id: document.id, in: document.collection, draft: document.draft
      ) { existing, sites in try document.way(over: existing, sites, &known) }
    } catch {
      if try isDamagedHere(document.id, in: document.collection, error, &outcome) { return }
      throw damage(of: wire, in: document.collection) ?? error
    }
    if result == .missingBase {
      guard transaction.documentCount == 1 || SyncDefect.groupStoredInParts.isPlanted else {
        throw SyncError(.malformed, "a group has contradictory forms of one document")
      }
      outcome.missing.append([try version(document, known)])
    }
    try note(result, of: document, over: known, merged: nil, &outcome)
  }

  /// Returns whether the local states include the bases of all documents.
  func hasBases(_ outcome: inout ApplyOutcome) throws -> Bool {
    for document in transaction.documents {
      guard case .vectors(let base, _, _) = document.basis, !base.isEmpty else { continue }
      let here = try passingDamage(document.id, in: document.collection, &outcome) {
        try write.version(of: document.id, in: document.collection).vector
      }
      if let here, !here.dominates(base) { return false }
    }
    return true
  }

  /// Merges the runs without storing anything.
  ///
  /// - Returns: The merges of each run that is not already known; `nil` when one of the runs does not fit.
  private func prepareRuns(_ outcome: inout ApplyOutcome) throws -> [[PreparedMerge]]? {
    var merges: [[PreparedMerge]] = []
    for run in transaction.runs {
      let result: RunMerge.Outcome
      do {
        result = try RunMerge(run: run, write: write).prepare()
      } catch let error as StoreError where error.code == .corrupt {
        // Requesting the documents one by one separates the intact ones from the damaged ones.
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

  /// Merges the documents that may not fit, without storing anything.
  ///
  /// - Returns: `false` as soon as one does not fit.
  private func prepare(_ steps: inout [Step?], _ outcome: inout ApplyOutcome) throws -> Bool {
    steps.reserveCapacity(transaction.documents.count)
    for document in transaction.documents {
      if document.basis.isSelfContained {
        steps.append(nil)
        continue
      }
      var known: Knowledge?
      let wire = transaction.block.span.bytes.extracting(document.wire)
      let merge: PreparedMerge
      do {
        merge = try write.prepare(
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

  /// Records the result for a document; `merged` is the new summary, if it has changed and is known.
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
    // The peer could not merge the local document either.
    case .refused(let error): return outcome.note(error, of: document.id, in: document.collection)
    }
    // After an operation delta both have the same state; what did not fit is requested.
    guard result != .missingBase, let known, case .vectors(let base, let vector, _) = document.basis else {
      return
    }
    guard !SyncDefect.debtForgotten.isPlanted else { return }
    // Default data has no vector: without a check, a difference shows only when the data is sent back.
    let isUnchecked = document.check == nil && !document.isReply
    let isWholeUnchecked = isUnchecked && base.isEmpty
    let isDefault = isUnchecked && vector.isEmpty || isWholeUnchecked && known.isDefault
    // The peer sent a full state, usually of a living document; the local one is dead over the same version.
    let isDeadHere = isWholeUnchecked && known.isDead && known.vector == vector
    if !isDefault, !isDeadHere, !known.isCertified, vector.dominates(known.vector ?? VersionVector()) {
      let summary = result == .unchanged ? known.summary : merged
      let isOther = try passingDamage(document.id, in: document.collection, &outcome) {
        try hasOtherContent(document, vector, summary)
      }
      guard isOther ?? false else { return }
      // A full state of the peer over the same version settles both; otherwise request it.
      guard base.isEmpty, known.vector == vector else {
        return outcome.differing.append(
          DocumentVersion(collection: document.collection, id: document.id))
      }
    }
    outcome.owed.append(
      OwedDocument(
        version: DocumentVersion(collection: document.collection, id: document.id, vector: vector),
        isHeld: document.isHeld,
        before: Fingerprint.hash(id: document.id.bytes.span.bytes, summary: known.summary)))
  }

  /// Returns whether an evicted document has arrived in a state that lacks what was evicted.
  ///
  /// Such a state was in flight since before its sender had the evicted version. The sender assumes that the
  /// receiver has it, so the receiver must request it.
  private func lacksWhatLeft(_ document: IncomingDocument) throws -> Bool {
    guard case .vectors(_, let vector, _) = document.basis,
      let collection = try write.collection(document.collection),
      let note = try write.leavingNote(for: document.id, in: collection),
      case .left(let left, _) = LeavingState(note)
    else { return false }
    return !vector.dominates(left)
  }

  /// Returns whether the local document has the version of the peer's document, and other content.
  ///
  /// `summary` is the local summary, if it is known.
  private func hasOtherContent(
    _ document: IncomingDocument, _ vector: VersionVector, _ summary: Summary?
  ) throws -> Bool {
    guard let check = document.check, summary?.check != check,
      let collection = try write.collection(document.collection)
    else {
      return false
    }
    let sites = write.sites
    let isOther = try write.withRecord(collection, document.id) { record, summary in
      guard summary.check != check else { return false }
      return try record.vector(sites: sites) == vector
    }
    return isOther ?? false
  }

  /// Returns what is wrong with a received document; `nil` when the damage is local.
  private func damage(of wire: RawSpan, in collection: String) -> SyncError? {
    do throws(CodecError) {
      try WireDocument.validate(wire)
      return nil
    } catch {
      return SyncError(error, in: "a document of \(collection)", base: 0)
    }
  }

  // MARK: - Local damage

  /// Runs a body that reads the record of a document.
  ///
  /// - Returns: `nil` when the record is damaged, which the outcome records.
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

  /// Returns whether damage of a document's record caused the error, and records it in the outcome.
  private func isDamagedHere(
    _ id: DocumentID, in collection: String, _ error: any Error, _ outcome: inout ApplyOutcome
  ) throws -> Bool {
    guard let error = error as? StoreError, error.code == .corrupt,
      let damage = try write.damage(of: id, in: collection)
    else { return false }
    outcome.damaged.insert(damage)
    return true
  }

  private func hasDamage(_ run: IncomingRun) throws -> Bool {
    try run.ids.contains { try write.damage(of: $0, in: run.collection) != nil }
  }

  // MARK: - Requests

  /// Returns the versions to request in place of the transaction.
  func versions(_ outcome: inout ApplyOutcome) throws -> [DocumentVersion] { try versions([], &outcome) }

  private func versions(
    _ steps: [Step?], _ outcome: inout ApplyOutcome
  ) throws -> [DocumentVersion] {
    var versions: [DocumentVersion] = []
    for run in transaction.runs {
      for id in run.ids {
        let version = try passingDamage(id, in: run.collection, &outcome) {
          try write.version(of: id, in: run.collection)
        }
        if let version { versions.append(version) }
      }
    }
    for (index, document) in transaction.documents.enumerated() {
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
      return try write.version(of: document.id, in: document.collection)
    }
    return DocumentVersion(collection: document.collection, id: document.id, vector: vector)
  }
}

/// The local state of a document before the peer's is merged.
private struct Knowledge {
  /// Set only when the peer's document has one, too.
  var vector: VersionVector?
  var summary: Summary
  var isDead = false
  /// Whether only the time of its deletion was known, which a version vector does not include.
  var isCertified: Bool { isDead && vector?.isEmpty ?? false }
  /// Whether it had only default data, which a version vector does not include either.
  var isDefault: Bool { !isDead && vector?.isEmpty ?? false }
  /// Whether the local state was already the result of the operation delta.
  var isSame = false
}

extension WireBasis {
  /// Whether it can be merged with any local state.
  var isSelfContained: Bool {
    if case .vectors(let base, _, _) = self { base.isEmpty } else { false }
  }
}

extension IncomingDocument {
  /// Returns whether all of the document was known before.
  ///
  /// A document that is not known and changed nothing was refused.
  fileprivate func isKnown(_ known: Knowledge?) -> Bool {
    guard case .vectors(_, let vector, _) = basis else { return known?.isSame ?? false }
    return vector.isEmpty || known?.isCertified == true || known?.vector?.reaches(vector) == true
  }

  /// Returns how to merge the document, and sets `known` to the local state.
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
      // A full state also shows deletions whose tombstones no peer has.
      guard here == vector || !here.isEmpty, !SyncDefect.repairSkipped.isPlanted else { return .join }
      if here == vector { SyncPoint.repaired.reached() }
      return .repair
    }
  }
}

extension WriteTransaction {
  /// Returns the local version of a document.
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
