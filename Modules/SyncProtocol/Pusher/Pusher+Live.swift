import CRDTCore
import DocStore
import Failpoints

extension Pusher {
  /// Queues the changes of a commit that concern the peer.
  ///
  /// Documents for which `holds` is true match this peer's own interest, and are flagged as held.
  ///
  /// - Returns: For each change whether it is sent; empty if none is.
  func committed(_ commit: Commit, holds: (Change) -> Bool) throws(SyncError) -> [Bool] {
    lastCommitted = max(lastCommitted, commit.sequence)
    guard generation != nil, !interest.isEmpty else { return [] }
    if commit.origin != .user, SyncDefect.notForwarded.isPlanted { return [] }
    if reconciliation.isActive, SyncDefect.commitMissedInRound.isPlanted { return [] }
    let isOwn = commit.origin == .remote(context.id)
    // Groups are changed in place: taking one out and putting it back would copy it for each document.
    var groups: [LiveGroup] = []
    var places = GroupPlaces()
    var offers: [DocumentOffer] = []
    var sent: [Bool] = []
    var evicted: Set<DocumentKey> = []
    // Looked up once for consecutive changes of a collection.
    var concern: (collection: UInt32, matcher: CollectionInterest?)?
    for (index, change) in commit.changes.enumerated() {
      if concern?.collection != change.key.collection {
        let collection = change.collection
        concern = (collection.id, concerns(collection.name) ? interest.matcher(for: collection) : nil)
      }
      guard let matcher = concern?.matcher else { continue }
      let matched = matcher.matches(change.id, change.before) && !SyncDefect.leaveNotTold.isPlanted
      let matches = matcher.matches(change.id, change.after)
      if change.kind == .evict || !change.oversize || !matches { context.withheld.remove(change.key) }
      // A commit that does not concern the receiver needs no checkpoint message soon.
      if matches || matched || isOwn { log.isMoved = true }
      if !matches, matched || isOwn { watch.insert(change.key) }
      if change.kind == .evict { evicted.insert(change.key) }
      guard change.kind == .write, let after = change.after, let summary = change.afterSummary else {
        continue
      }
      if !matches, let offer = try offer(change, summary, matched: matched, isOwn: isOwn) {
        offers.append(offer)
      }
      guard !isOwn else { continue }
      if matches || matched {
        guard holding != .awaited, !log.isBehind else { continue }
        if change.oversize, try !hasBase(change, matched) {
          if matches {
            context.withhold(change.key, in: change.collection.name, byteCount: after.bytes.count)
          }
          if let offer = offer(oversize: change, summary) { offers.append(offer) }
          continue
        }
        let place = SyncDefect.groupSentInParts.isPlanted ? groups.count : places.place(of: change.group)
        if place == groups.count {
          groups.append(
            LiveGroup(
              sequence: change.sequence, round: reconciliation.isActive ? nil : reconciliation.number,
              isForwarded: commit.origin != .user))
        }
        let isHeld = holds(change)
        try append(
          change, after, matched: matched, leaves: !matches, isHeld: isHeld,
          news(of: change, summary, matches: matches, isHeld: isHeld), to: &groups[place])
        if sent.isEmpty { sent = [Bool](repeating: false, count: commit.changes.count) }
        sent[index] = true
      }
    }
    if !evicted.isEmpty { try noteEvicted(evicted) }
    for group in groups { try enqueue(group) }
    followMotion(commit, sent)
    send(offers)
    return log.isBehind ? [] : sent
  }

  /// Updates the documents in flight that a commit has changed, depending on whether the peer is sent the
  /// change.
  private func followMotion(_ commit: Commit, _ sent: [Bool]) {
    guard !motion.isEmpty else { return }
    for (index, change) in commit.changes.enumerated() where motion.contains(change.key) {
      let isSent = index < sent.count && sent[index]
      let (before, after) = (
        hash(of: change, as: change.beforeSummary), hash(of: change, as: change.afterSummary)
      )
      if commit.origin == .remote(context.id) {
        motion.meet(change.key, from: before, to: after)
      } else {
        motion.follow(change.key, from: before, to: isSent ? after : nil, group: change.sequence)
      }
    }
  }

  /// Records the result of merging the peer's documents, whether or not their commit was processed before.
  func noteMerged(_ owed: [OwedDocument]) throws(SyncError) {
    guard !motion.isEmpty, owed.contains(where: { $0.merged != nil }) else { return }
    try context.read { transaction in
      var known: Collection?
      for document in owed {
        guard let merged = document.merged else { continue }
        let name = document.version.collection
        if known?.name.isSame(as: name) != true { known = try transaction.collection(name) }
        guard let known else { continue }
        motion.meet(
          DocumentKey(collection: known.id, id: document.version.id), from: merged.before, to: merged.after)
      }
    }
  }

  private func hash(of change: Change, as summary: Summary?) -> UInt64? {
    guard let summary else { return nil }
    let id = change.id
    return Fingerprint.hash(id: id.bytes.span.bytes, summary: summary)
  }

  /// Forgets the documents in flight once everything is acknowledged and no request waits.
  func noteQuiet() {
    if !motion.isEmpty, requests.isEmpty, queue.isConfirmed { motion.removeSent() }
  }

  private func append(
    _ change: Change, _ after: Record, matched: Bool, leaves: Bool, isHeld: Bool, _ news: News,
    to group: inout LiveGroup
  ) throws(SyncError) {
    var base = VersionVector()
    var successor: WireSuccessor?
    // The peer has no base for a document that was too large to be sent.
    if matched, !change.wasOversize, let before = change.before {
      if group.round != nil, !motion.countContended(change.key) {
        successor = try context.shared.encoding.form(of: change.key, in: change.sequence) {
          () throws(SyncError) in try self.successor(change)
        }
      }
      if let successor { base = successor.base } else { base = try vector(of: before, change.sites) }
      // The peer may have another state of default data, so an operation delta would not fit.
      if base.isEmpty { successor = nil }
    }
    if !base.isEmpty { group.isSelfContained = false }
    if base.isEmpty, change.before != nil { group.mustKeepOrder = true }
    if leaves { group.leaves = true }
    group.byteCount += after.bytes.count + 256 + (successor?.bytes.count ?? 0)
    group.documents.append(
      LiveDocument(
        change: change, record: after, base: base, leaves: leaves, isHeld: isHeld,
        successor: successor, news: news))
  }

  /// Whether the peer has the state before a change, so that it need not be sent the full state.
  private func hasBase(_ change: Change, _ matched: Bool) throws(SyncError) -> Bool {
    guard matched, !change.wasOversize, let before = change.before else { return false }
    return try !vector(of: before, change.sites).isEmpty
  }

  private func vector(of record: Record, _ sites: SiteTable) throws(SyncError) -> VersionVector {
    do {
      return try record.withView { view throws(CodecError) in try view.vector(sites: sites) }
    } catch {
      throw SyncError(store: error)
    }
  }

  /// Returns the change as an operation delta, if it was one write and its records are small enough to try.
  private func successor(_ change: Change) throws(SyncError) -> WireSuccessor? {
    guard let before = change.before, let after = change.after, let formerSummary = change.beforeSummary,
      let summary = change.afterSummary,
      before.bytes.count + after.bytes.count <= context.tuning.successorRecordBytes
    else { return nil }
    do {
      return try WireDocument.successor(
        of: StoredDocument(before.bytes.span.bytes, summary: formerSummary),
        to: StoredDocument(after.bytes.span.bytes, summary: summary),
        tables: RecordTables(keys: change.collection.keys, sites: change.sites))
    } catch {
      throw SyncError(store: error)
    }
  }

  private func enqueue(_ group: LiveGroup) throws(SyncError) {
    guard !log.isBehind, holding != .awaited else { return }
    if live.byteCount + group.byteCount > context.configuration.liveQueueBytes, live.byteCount > 0,
      !SyncDefect.queueNotDropped.isPlanted
    {
      context.tell(.overflow)
      return try fallBehind(from: group.sequence - 1)
    }
    live.append(group)
  }

  /// Drops queued groups that may no longer leave under the policy, and forgets the documents in flight.
  func revoke() {
    guard let gatekeeper else { return }
    motion.removeSent()
    queue.revoke { !gatekeeper.maySend($0) }
  }

  /// Asks the peer to reconcile everything again.
  func renew() {
    guard generation != nil else { return }
    doubt()
    telling.reset()
    log.followed = nil
    log.waiting = nil
    log.marked = nil
    log.walk = nil
    stopTelling()
    // Reconciliation finds withheld documents again.
    context.withheld.removeAll()
    context.shared.leaves.note(context.id, confirmed: 0)
    queue.add(.renew)
    renewal.tell()
  }

  /// Sends the next waiting group: requested documents first, then live changes.
  ///
  /// - Returns: `false` when there is none.
  func addLive() throws(SyncError) -> Bool {
    guard queue.waitingTransferBytes < context.tuning.waitingBytes else { return false }
    if canAnswer {
      // A log walk waits for requests, but requests do not wait for a walk: an answer includes all that is
      // bound to it.
      if !queue.hasWaitingTransfers, let group = requests.removeFirst() {
        try answer(group)
        return true
      }
      if log.walk == nil, let group = live.removeFirstHeld() {
        try send(group)
        return true
      }
    }
    guard let group = live.removeFirst() else { return false }
    if !canAnswer || log.walk != nil, group.mustKeepOrder || group.leaves && live.hasHeld {
      live.hold(group)
      return true
    }
    try send(group)
    return true
  }

  /// Schedules evicted documents with waiting changes for another look, once these changes are sent.
  ///
  /// The peer then gets the state that is stored here at that time. Changes in the meantime are handled as
  /// usual.
  private func noteEvicted(_ keys: Set<DocumentKey>) throws(SyncError) {
    for document in live.documents where keys.contains(document.key) {
      live.noteEvicted(
        document.key,
        DocumentRequest(
          collection: document.collection.name, id: document.id,
          vector: try vector(of: document.record, document.sites), isHeld: true))
    }
  }

  private func send(_ group: LiveGroup) throws(SyncError) {
    enqueue(live.takeEvicted(), isGroup: false)
    if try announceBound(group) { return motion.remove(group: group.sequence) }
    if try announce(group) { return motion.remove(group: group.sequence) }
    let mayOvertake = mayOvertake(group)
    if mayOvertake, group.leaves, queue.hasTransfers { noteOvertaking(group) }
    batch.begin(sequence: group.sequence, mayOvertake: mayOvertake)
    do throws(CodecError) {
      let (runs, rest) = try self.runs(of: group)
      for run in runs { batch.append(run) }
      for document in rest {
        if let successor = document.successor, !batch.isStaged, maySucceed(document, of: group) {
          batch.append(document, wire: successor.bytes, flags: group.flags(of: document))
          continue
        }
        let id = document.id
        try document.record.withView { view throws(CodecError) in
          try batch.append(
            id.bytes.span.bytes, view, base: document.base, of: document.collection,
            RecordTables(keys: document.collection.keys, sites: document.sites),
            flags: group.flags(of: document), summary: group.summary(of: document, view))
        }
      }
    } catch {
      throw SyncError(store: error)
    }
    let isSent = batch.finish()
    if !isSent { motion.remove(group: group.sequence) }
    if !isSent || group.isSelfContained && !queue.hasTransfers { graph.remove(group.sequence) }
  }

  /// Whether the group may be sent before waiting large groups.
  private func mayOvertake(_ group: LiveGroup) -> Bool {
    !group.mustKeepOrder && (!group.leaves || motion.mayOvertake)
  }

  /// Marks documents with waiting changes as overtaking, in collections whose interest changes.
  func noteWaiting(in collections: Set<TextKey>) {
    for document in live.documents where collections.contains(document.collection.name) {
      motion.noteOvertaking(DocumentName(collection: document.collection.name, id: document.id))
    }
  }

  private func noteOvertaking(_ group: LiveGroup) {
    for document in group.documents where document.leaves {
      motion.noteOvertaking(DocumentName(collection: document.collection.name, id: document.id))
    }
  }

  /// Whether the peer has, or receives before, exactly the state before a change, so that an operation
  /// delta fits.
  private func maySucceed(_ document: borrowing LiveDocument, of group: LiveGroup) -> Bool {
    !reconciliation.isActive && group.round == reconciliation.number && !motion.isContended(document.key)
      && !isLarge(group)
  }

  /// Whether the group may be sent in segments, which cannot contain operation deltas.
  private func isLarge(_ group: LiveGroup) -> Bool {
    group.byteCount > context.tuning.splitBytes || group.documents.count > context.tuning.splitDocuments
  }

  private func runs(
    of group: LiveGroup
  ) throws(CodecError) -> (runs: [OutgoingRun], rest: [LiveDocument]) {
    guard group.documents.count >= OutgoingRun.minimum, !isLarge(group) else { return ([], group.documents) }
    return try OutgoingRun.gather(group.documents, flags: group.flags(of:)) { maySucceed($0, of: group) }
  }

  /// Forgets recent transactions that the peer has acknowledged, and bindings of answers that it has.
  ///
  /// The binding that is about to be answered is kept.
  func forgetConfirmed(answering binding: UInt64? = nil) {
    var open = requests.bindings.union(queue.bindings)
    if let binding { open.insert(binding) }
    graph.removeBindings(except: open)
    // The receiver may have any part of what was only announced since its checkpoint.
    guard log.walk == nil else { return }
    graph.remove(after: log.resumedThrough, before: min(firstUnconfirmed ?? .max, lastCommitted &+ 1))
  }

  /// The lowest sequence of a live group that waits, is in flight or is announced: the peer may still skip
  /// it.
  var firstUnconfirmed: UInt64? {
    [queue.firstUnacknowledged(), live.firstSequence, announcing.firstOpen].compactMap { $0 }.min()
  }
}

/// Maps each group of a commit to its index among the gathered groups; a new group gets the next index.
private struct GroupPlaces {
  private var places: [Int: Int] = [:]
  private var latest: (group: Int, place: Int)?

  mutating func place(of group: Int) -> Int {
    if let latest, latest.group == group { return latest.place }
    let place = places[group] ?? places.count
    places[group] = place
    latest = (group, place)
    return place
  }
}
