import CRDTCore
import DocStore
import Failpoints

extension EvictionScheduler {
  /// Marks documents that a transaction takes out of the subscriptions, and unmarks those that match again.
  ///
  /// - Parameters:
  ///   - write: A transaction that is about to end.
  ///   - hasEvicted: Whether documents were evicted that a peer may still send on an earlier request. If no
  ///     subscription matches such a document now, it is evicted immediately.
  ///   - isElsewhere: Whether a peer has everything of a document that left.
  /// - Throws: The store's errors.
  func look(
    at write: WriteTransaction, hasEvicted: Bool = false, isElsewhere: (DocumentName) -> Bool
  ) throws {
    var rules = rules
    var hasNotes = try write.hasLeavingNotes()
    let hasEvicted = hasEvicted && rules.areKnown
    guard rules.evictsAny || hasNotes || hasEvicted else { return }
    var candidates: [Candidate] = []
    for change in write.pendingChanges
    where rules.covers(change.collection.name) || hasNotes || hasEvicted {
      rules.resolve(change.collection)
      let name = DocumentName(collection: change.collection.name, id: change.id)
      if hasEvicted, try drop(change, name, rules, hasNotes, write) { continue }
      if let candidate = try look(at: change, name, rules, hasNotes, write, isElsewhere) {
        candidates.append(candidate)
        hasNotes = true
      }
    }
    add(candidates)
  }

  /// Evicts a document that a peer has sent, that was not here before, and that no subscription matches.
  ///
  /// - Returns: Whether the document was evicted.
  private func drop(
    _ change: Change, _ name: DocumentName, _ rules: EvictionRules, _ hasNotes: Bool,
    _ write: WriteTransaction
  ) throws -> Bool {
    let id = name.id.bytes.span.bytes
    guard change.kind == .write, change.before == nil,
      try !hasNotes || write.leavingNote(for: name.id, in: change.collection) == nil
    else { return false }
    // A later transaction in the batch may have changed it.
    let isUnwanted = try write.withRecord(change.collection, name.id) { record, _ in
      record.isAlive && !rules.match(name.collection, id, record)
    }
    guard isUnwanted ?? false else { return false }
    return try write.evict(name.id, in: name.collection, keepingFloor: false)
  }

  private func look(
    at change: Change, _ name: DocumentName, _ rules: EvictionRules, _ hasNotes: Bool,
    _ write: WriteTransaction, _ isElsewhere: (DocumentName) -> Bool
  ) throws -> Candidate? {
    let id = name.id.bytes.span.bytes
    let note =
      hasNotes
      ? try write.leavingNote(for: change.id, in: change.collection).flatMap { LeavingState($0) } : nil
    guard change.kind == .write, let after = change.after,
      after.withView({ $0.isAlive && !rules.match(name.collection, id, $0) })
    else {
      if case .leaving = note { try forget(name, write) }
      // The document is here again, so the stored version no longer applies.
      switch note {
      case .left, .withdrawn: if change.kind == .write { try forget(name, write) }
      case .leaving, nil: break
      }
      return nil
    }
    let hasLeft: Bool =
      switch note {
      case .leaving: true
      // A document that returned and matches no subscription is evicted again.
      case .left: change.before == nil
      case nil, .withdrawn: change.before?.withView { rules.letGo(of: name.collection, id, $0) } ?? false
      }
    // No peer has a document that is too large to send.
    guard hasLeft, !change.oversize else { return nil }
    let state = LeavingState.leaving(since: change.sequence, isElsewhere: isElsewhere(name))
    guard try write.setLeavingNote(state.bytes, for: change.id, in: name.collection) else { return nil }
    return Candidate(name: name, since: change.sequence)
  }

  /// Evicts documents, except those whose eviction would lose data.
  func evict(_ candidates: [Candidate], in write: WriteTransaction) throws {
    var rules = rules
    for candidate in candidates {
      // Unreadable documents stay.
      let damage = try write.damage(of: candidate.name.id, in: candidate.name.collection)
      if damage == nil { try evict(candidate, &rules, write) }
    }
  }

  private func evict(
    _ candidate: Candidate, _ rules: inout EvictionRules, _ write: WriteTransaction
  ) throws {
    let name = candidate.name
    guard let collection = try write.collection(name.collection),
      let note = try write.leavingNote(for: name.id, in: collection).flatMap({ LeavingState($0) }),
      case .leaving(let since, let isElsewhere) = note, since == candidate.since
    else { return }
    rules.resolve(collection)
    let sites = write.sites
    let (id, current) = (name.id.bytes.span.bytes, rules)
    let vector = try write.withRecord(collection, name.id) { record, _ -> VersionVector? in
      guard record.isAlive, !current.match(name.collection, id, record) else { return nil }
      return try record.vector(sites: sites)
    }
    // A state without a version vector cannot be distinguished from others.
    guard let vector = vector ?? nil, !vector.isEmpty else { return try forget(name, write) }
    let last = try write.lastChange(of: name.id, in: collection) ?? since
    guard last == since else {
      // The document was changed without a call of `look`.
      let state = LeavingState.leaving(since: last, isElsewhere: false)
      _ = try write.setLeavingNote(state.bytes, for: name.id, in: name.collection)
      return add([Candidate(name: name, since: last)])
    }
    let mayGo = try isElsewhere || isKept(name, collection, since, write)
    guard mayGo && !SyncDefect.leftStays.isPlanted || SyncDefect.lettingGoUnasked.isPlanted else {
      return park(candidate)
    }
    let left = LeavingState.left(vector, queries: rules.names(of: name.collection))
    guard left.bytes.count <= WriteTransaction.leavingNoteBytes else { return try forget(name, write) }
    SyncPoint.letGo.reached()
    _ = try write.evict(name.id, in: name.collection, keepingFloor: false)
    _ = try write.setLeavingNote(left.bytes, for: name.id, in: name.collection)
  }

  /// Evicts documents that a peer has withdrawn, except those with more than the peer knows.
  ///
  /// A small peer is not trusted with what this store wrote as an earlier site.
  func evict(_ withdrawals: [Withdrawal], of kind: PeerKind?, in write: WriteTransaction) throws {
    guard !withdrawals.isEmpty else { return }
    let former = kind == .big ? [] : try write.formerSites()
    for withdrawal in withdrawals {
      let (id, name) = (withdrawal.id, withdrawal.collection)
      // Unreadable documents stay.
      guard let collection = try write.collection(name), try write.damage(of: id, in: name) == nil else {
        continue
      }
      let sites = write.sites
      let copy = try write.withRecord(collection, id) { record, summary in
        (
          vector: try record.vector(sites: sites),
          hash: Fingerprint.hash(id: id.bytes.span.bytes, summary: summary)
        )
      }
      var known = withdrawal.known
      var hash: UInt64?
      if let copy {
        let isOwn = copy.vector.elements.contains { element in former.contains { $0.mayBe(element.writer) } }
        guard !copy.vector.isEmpty, known.dominates(copy.vector), !isOwn else { continue }
        (known, hash) = (copy.vector, copy.hash)
      } else if case .withdrawn(let former, let formerHash)? = try write.leavingNote(for: id, in: collection)
        .flatMap({ LeavingState($0) })
      {
        known.join(former)
        hash = formerHash
      }
      if copy != nil { _ = try write.evict(id, in: name, keepingFloor: false) }
      let note = LeavingState.withdrawn(known, hash: hash).bytes
      if note.count <= WriteTransaction.leavingNoteBytes {
        _ = try write.setLeavingNote(note, for: id, in: name)
      }
    }
  }

  /// Returns whether a peer has the current state and keeps the document because it subscribes to it.
  private func isKept(
    _ name: DocumentName, _ collection: Collection, _ since: UInt64, _ write: WriteTransaction
  ) throws -> Bool {
    for member in members(confirmed: since) where member.gatekeeper?.maySend(name.collection) ?? false {
      guard let matcher = member.interest.matcher(for: collection) else { continue }
      let id = name.id.bytes.span.bytes
      let isMatch = try write.withRecord(collection, name.id) { record, _ in
        matcher.matches(id, record)
      }
      if isMatch ?? false { return true }
    }
    return false
  }

  private func forget(_ name: DocumentName, _ write: WriteTransaction) throws {
    try write.removeLeavingNote(for: name.id, in: name.collection)
  }

  // MARK: - Evicted documents

  /// Returns the version with which a document was evicted.
  ///
  /// It is `nil` if there is none, or if it matched no subscription and a query was added since.
  ///
  /// A big peer is believed about what this one may read, whatever a small one has withdrawn.
  func vectorLeft(_ note: [UInt8]?, in collection: String, from kind: PeerKind?) -> VersionVector? {
    switch note.flatMap({ LeavingState($0) }) {
    case .left(let vector, let queries):
      let known = Set(queries)
      return rules.names(of: collection).allSatisfy(known.contains) ? vector : nil
    case .withdrawn(let vector, _): return kind == .big ? nil : vector
    case .leaving, nil: return nil
    }
  }

  /// Returns a transaction without the documents that were evicted here in the arriving state or a later one.
  func without(
    left transaction: IncomingTransaction, from kind: PeerKind?, in write: WriteTransaction
  ) throws -> IncomingTransaction {
    var transaction = transaction
    try transaction.removeDocuments { document in
      guard case .vectors(_, let coming, _) = document.basis,
        let collection = try write.collection(document.collection),
        let left = vectorLeft(
          try write.leavingNote(for: document.id, in: collection), in: document.collection, from: kind)
      else { return false }
      return try left.dominates(coming)
        && write.withRecord(collection, document.id, { _, _ in true }) == nil
    }
    return transaction
  }
}
