import CRDTCore
import DocStore
import Failpoints

/// Lazy push at the receiver: requests what a sender announces, unless another session brings it.
final class AnnouncementPuller {
  private let context: SessionContext
  private let pull: PullState
  private var announced = AnnouncedTransactions()
  /// Requests (GRAFT) that the current call has decided to send, one array for each transaction.
  private var pulls: [[DocumentWant]] = []
  /// How many transactions in a row were written by the sender and already known to this peer.
  private var knownOwnTransactions = 0
  /// Returns what the pusher announces to the sender by following this peer's own log.
  var followedLog: (Collection) -> FollowedLog? = { _ in nil }

  init(_ pull: PullState) {
    context = pull.context
    self.pull = pull
  }

  /// The number of documents in announced transactions that are not settled.
  var documentCount: Int { announced.documentCount }
  /// The number of transactions whose requests the current call is to send.
  var pullCount: Int { pulls.count }
  /// Whether an announced transaction is neither received nor requested.
  var isOpen: Bool { announced.isOpen }

  /// Makes all transactions due that wait for another session.
  func hurry() { announced.hurry(now: context.now) }

  /// Records that transactions were applied; an announced one may be among them.
  func noteApplied() {
    // The sender continues to announce only after this peer has reported what has arrived.
    if announced.documentCount >= context.tuning.announcedDocuments / 2 { announced.isAnswered = true }
  }

  /// How long a requested transaction may make no progress before reconciliation has to find it.
  private static var patience: Duration { .seconds(10) }
  /// The time between two messages that say which announcements are settled.
  private static var reportInterval: Duration { .milliseconds(250) }
  /// How many settled announcements are reported before the interval has passed.
  ///
  /// An eighth of the documents that may be open also suffices.
  private static var reportCount: UInt64 { 256 }

  /// How this peer's copy compares with an announced document.
  private struct LocalCopy {
    var isLacking: Bool
    var isHere = false
    /// The versions that this peer's copy includes.
    var vector = VersionVector()
    /// Whether `vector` includes the announced versions.
    var isIncluded = false
    /// Whether the copy here matches this peer's interest.
    ///
    /// Default data has no version vector that would show this to the sender.
    var isHeld = false
    /// Whether this peer has something that the sender's state lacks and cannot learn otherwise.
    ///
    /// Version vectors do not show a compacted tombstone.
    var isOwed = false
    /// Whether the sender may read the copy here, or there is none.
    var isReadable = true
  }

  /// Receives announced transactions.
  ///
  /// - Returns: The documents of which the sender lacks something.
  func receive(_ announcement: Announcement) throws(SyncError) -> [DocumentRequest] {
    let transactions = announcement.transactions.map { transaction in
      AnnouncedTransactions.Transaction(
        number: announced.countOne(), documents: transaction.filter { pull.accepts($0.collection) },
        changes: [], since: context.now, deadline: context.now, state: .held(isBehind: false))
    }
    context.statistics.transactionsHeard += UInt64(transactions.count)
    // Documents that this peer does not accept from the sender may still be held here, and the sender may
    // want them.
    var owed = announcement.transactions.joined().filter { $0.isHeld && !pull.accepts($0.collection) }
      .map { DocumentRequest($0) }
    try readLocalCopies { localCopy in
      for transaction in transactions where !transaction.documents.isEmpty {
        try receive(transaction, transaction.documents.map(localCopy), &owed)
      }
    }
    sendPulls()
    return owed
  }

  /// Whether the sender may not read a document, and so may not learn whether it is here.
  private func isHidden(_ document: AnnouncedDocument) -> Bool {
    context.gatekeeper.map { !$0.mayRead(document.collection, document.id) } ?? false
  }

  private func want(_ document: AnnouncedDocument, _ localCopy: LocalCopy) -> DocumentWant {
    // The versions are the same but the contents differ: only the sender's full state resolves that.
    let isWhole = localCopy.isLacking && localCopy.isIncluded && !localCopy.vector.isEmpty
    return DocumentWant(
      DocumentVersion(
        collection: document.collection, id: document.id, vector: isWhole ? VersionVector() : localCopy.vector
      ),
      isHeld: localCopy.isHeld || isWhole,
      isReadable: localCopy.isReadable && !isHidden(document), context.gatekeeper)
  }

  private func receive(
    _ transaction: AnnouncedTransactions.Transaction, _ localCopies: [LocalCopy],
    _ owed: inout [DocumentRequest]
  ) throws {
    // Such a document is not followed until it is here: what was asked for again, or reported as settled,
    // would show whether it was here before.
    guard !transaction.documents.contains(where: isHidden) else {
      owed += requests(transaction.documents, localCopies)
      pulls.append(wants(of: transaction, localCopies))
      return
    }
    guard localCopies.contains(where: \.isLacking) else {
      owed += requests(transaction.documents, localCopies)
      return
    }
    let changes = zip(transaction.documents, localCopies).compactMap { $1.isLacking ? $0.change : nil }
    let room = context.tuning.announcedDocuments * 2
    guard announced.documentCount + transaction.documents.count <= room,
      scheduler.admit(changes.count, of: context.id)
    else {
      // The documents of one transaction are requested immediately: when a reconciliation finds them, the
      // sender may no longer know that they belong together. A single document can wait for the
      // reconciliation.
      if transaction.documents.count > 1 {
        pulls.append(wants(of: transaction, localCopies))
      } else {
        for document in transaction.documents { pull.due.add(document.collection) }
      }
      return
    }
    var transaction = AnnouncedTransactions.Transaction(
      number: transaction.number, documents: transaction.documents, changes: changes,
      since: transaction.since,
      deadline: transaction.deadline, state: transaction.state)
    (transaction.state, transaction.deadline) = decide(transaction, localCopies, isNew: true)
    announced.append(transaction)
    check(
      .sync(9), announced.documentCount <= room, phase: "pull \(pull.phase)",
      "\(announced.documentCount) announced documents are not settled")
  }

  /// Processes the announcements whose deadline has passed.
  ///
  /// - Returns: The documents of which the sender lacks something.
  func look() throws(SyncError) -> [DocumentRequest] {
    guard announced.isDue(now: context.now) else { return [] }
    var owed: [DocumentRequest] = []
    var looking = announced
    try readLocalCopies { localCopy in
      try looking.look(now: context.now) { transaction in
        if case .lost(let reconciliation) = transaction.state {
          guard pull.phase == .done, pull.due == .nothing, pull.reconciliation > reconciliation else {
            return (transaction.state, context.now + Self.reportInterval)
          }
          scheduler.dismiss(transaction.changes, of: context.id)
          return nil
        }
        if transaction.state == .wanted {
          // If version vectors cannot distinguish the states, any answer settles the request.
          let isHere = try transaction.documents.allSatisfy { document in
            let localCopy = try localCopy(document)
            return !localCopy.isLacking || document.hash != nil && localCopy.isIncluded
          }
          guard isHere || SyncDefect.announcementForgotten.isPlanted else {
            return waitLonger(for: transaction)
          }
          scheduler.dismiss(transaction.changes, of: context.id)
          return nil
        }
        let localCopies = try transaction.documents.map(localCopy)
        guard localCopies.allSatisfy({ !$0.isLacking }) || SyncDefect.announcementForgotten.isPlanted else {
          return decide(transaction, localCopies, isNew: false)
        }
        owed += requests(transaction.documents, localCopies)
        scheduler.dismiss(transaction.changes, of: context.id)
        return nil
      }
    }
    announced = looking
    sendPulls()
    return owed
  }

  /// Returns the status and deadline of a transaction that was requested and has not arrived.
  private func waitLonger(for transaction: AnnouncedTransactions.Transaction) -> (
    AnnouncedTransactions.RequestState, deadline: Duration
  ) {
    let end = max(pull.queue.progressedAt, transaction.since) + Self.patience
    guard context.now >= end else { return (.wanted, min(end, context.now + Self.patience / 4)) }
    SyncPoint.announcementLost.reached()
    for document in transaction.documents { pull.due.add(document.collection) }
    return (.lost(reconciliation: pull.reconciliation), context.now + Self.reportInterval)
  }

  /// Returns whether to request an announced transaction now or to wait for another session.
  private func decide(
    _ transaction: AnnouncedTransactions.Transaction, _ localCopies: [LocalCopy], isNew: Bool
  ) -> (AnnouncedTransactions.RequestState, deadline: Duration) {
    let decision = scheduler.decide(
      transaction.changes, for: context.id, waited: isNew ? nil : context.now - transaction.since,
      now: context.now)
    switch decision {
    case .wait(let hold, let isBehind): return (.held(isBehind: isBehind), context.now + hold)
    case .want:
      (isNew ? SyncPoint.pulledAtOnce : .pulledLate).reached()
      pulls.append(wants(of: transaction, localCopies))
      // Requests are checked often, since other sessions that wait for the same changes depend on the result.
      return (.wanted, context.now + PullScheduler.holds.upperBound / 4)
    }
  }

  private func wants(of transaction: AnnouncedTransactions.Transaction, _ localCopies: [LocalCopy])
    -> [DocumentWant]
  {
    // A receiver that may not disclose its versions always requests as a holder. So the request omits
    // documents that left the interest and are not here.
    zip(transaction.documents, localCopies).filter { $1.isLacking || $1.isHere }.map(want)
  }

  /// Sends the collected requests (GRAFT), one for each transaction of several documents.
  private func sendPulls() {
    let waiting = pulls
    pulls = []
    context.statistics.transactionsPulled += UInt64(waiting.count)
    pull.sendWants(
      waiting.filter { $0.count == 1 }.flatMap(\.self), reconciliation: 0, isTransaction: false, isGraft: true
    )
    for wants in waiting where wants.count > 1 {
      pull.sendWants(wants, reconciliation: 0, isTransaction: true, isGraft: true)
    }
  }

  /// Returns requests on the sender's behalf for documents of which its copy lacks something.
  private func requests(_ documents: [AnnouncedDocument], _ localCopies: [LocalCopy]) -> [DocumentRequest] {
    zip(documents, localCopies).compactMap { document, localCopy in
      localCopy.isOwed ? DocumentRequest(document) : nil
    }
  }

  /// Reads the store in one transaction while `body` asks how this peer's copies compare with documents.
  private func readLocalCopies(
    _ body: ((AnnouncedDocument) throws -> LocalCopy) throws -> Void
  ) throws(SyncError) {
    let leaves = context.shared.leaves
    let (interest, gatekeeper) = (pull.interest, context.gatekeeper)
    try context.read { snapshot in
      let sites = snapshot.sites
      let hasLeft = try snapshot.hasLeavingNotes()
      // While the store has documents that are too large to send, nothing is left to announcements.
      let isAnnounced = try !snapshot.oversizeDocuments().contains { try context.mayRead($0, snapshot) }
      var followed: (collection: UInt32, log: FollowedLog?)?
      try body { document in
        // Requested as a holder, whether it is here or not and in which state.
        if isHidden(document) { return LocalCopy(isLacking: true, isHere: true) }
        guard let collection = try snapshot.collection(document.collection) else {
          return LocalCopy(isLacking: !document.leaves)
        }
        if followed?.collection != collection.id {
          followed = (collection.id, isAnnounced ? followedLog(collection) : nil)
        }
        let matcher = interest.matcher(for: collection)
        var found: LocalCopy?
        // A damaged record cannot be merged with, so nothing is requested.
        try snapshot.visitIntactRecord(
          collection, document.id,
          damaged: {
            found = LocalCopy(isLacking: false)
            context.reportDamage(named: $0)
          }
        ) { place, record, summary in
          let id = document.id.bytes.span.bytes
          let vector = try record.vector(sites: sites)
          let isReadable = gatekeeper?.mayRead(collection, id, record) ?? true
          // Without a writer that both have, the sender's document is another one, and this one counts as
          // absent.
          if !isReadable, !vector.sharesWriter(with: document.vector) { return }
          let isSame = document.hash.map { $0 == Fingerprint.hash(id: id, summary: summary) }
          let isHeld = matcher?.matches(id, record) ?? false
          // Equal states may list other superseded writers.
          let isSameVersion = isSame == true && !vector.isEmpty
          let isIncluded = isSameVersion || vector.dominates(document.vector)
          // With different versions the contents differ anyway.
          let reportsContent = document.vector.isEmpty || document.vector == vector
          let isLacking = !isIncluded || isSame == false && reportsContent
          var isOwed =
            document.isHeld && (!isSameVersion || !record.isAlive)
            && (!document.vector.dominates(vector) || vector.isEmpty && isSame != true || !record.isAlive)
          if isOwed, !vector.isEmpty, let place,
            followed?.log?.reports(id, record, at: place.sequence) ?? false
          {
            // This peer's pusher announces the document as well; the sender then requests what it lacks.
            isOwed = false
          }
          found = LocalCopy(
            isLacking: isLacking && (isHeld || !document.leaves), isHere: true, vector: vector,
            isIncluded: isIncluded, isHeld: isHeld, isOwed: isOwed, isReadable: isReadable)
        }
        if let found { return found }
        if hasLeft,
          let left = leaves.vectorLeft(
            try snapshot.leavingNote(for: document.id, in: collection), in: document.collection, from: nil),
          left.dominates(document.vector)
        {
          return LocalCopy(isLacking: false, vector: left)
        }
        return LocalCopy(isLacking: !document.leaves)
      }
    }
  }

  // MARK: - Replies to the sender

  /// Reports to the sender which announcements are settled, if it is time.
  func reportSettled() {
    guard announced.settled > announced.reported.settled else { return }
    let isMuch =
      announced.settled - announced.reported.settled >= Self.reportCount
      || announced.unreported >= context.tuning.announcedDocuments / 8
    guard isMuch || context.now - announced.reported.at >= Self.reportInterval else { return }
    sendPrune()
  }

  /// When announcements next need attention; `nil` if there are none.
  var time: Duration? {
    let reportTime =
      announced.settled > announced.reported.settled ? announced.reported.at + Self.reportInterval : nil
    guard let deadline = announced.deadline else { return reportTime }
    return reportTime.map { min($0, deadline) } ?? deadline
  }

  private func sendPrune(forwards: Bool = false, own: Bool = false) {
    announced.report(now: context.now)
    let prune = Prune(forwards: forwards, own: own, settled: announced.settled)
    context.send(.prune) { prune.encode(to: &$0) }
  }

  /// Sends PRUNE if the applied transactions were already known, so that the sender falls back to lazy push.
  ///
  /// One duplicate is enough for forwarded transactions. For the sender's own writes it takes three in a row.
  func prune(_ transactions: [IncomingTransaction], known: Set<Int>) {
    context.statistics.transactionsKnown += UInt64(known.count)
    // With a single session there is no other source, so nothing is pruned, even if it arrived twice.
    guard scheduler.hasOthers(than: context.id) else { return }
    var forwards = false
    for (index, transaction) in transactions.enumerated() {
      guard transaction.isLive else { continue }
      if transaction.isForwarded {
        forwards = forwards || known.contains(index)
      } else {
        knownOwnTransactions = known.contains(index) ? knownOwnTransactions + 1 : 0
      }
    }
    let own = knownOwnTransactions >= 3
    if own { knownOwnTransactions = 0 }
    guard forwards || own else { return }
    (own ? SyncPoint.prunedOwn : .prunedForwards).reached()
    sendPrune(forwards: forwards, own: own)
  }

  private var scheduler: PullScheduler { context.shared.pulls }
}

extension AnnouncedDocument {
  /// The change for the scheduler, named by the latest write only.
  ///
  /// Some senders announce earlier writes or a hash of the state, and others do not.
  fileprivate var change: PullScheduler.Change {
    let state = vector.isEmpty ? hash ?? 0 : 0
    var lanes = HashLanes(id.bytes.span.bytes, seed: HashLanes(collection).first ^ state)
    let latest = vector.elements.max { $0.reading < $1.reading }
    if let latest {
      lanes = lanes.combined(
        with: HashLanes(latest.writer.site.low, latest.reading.rawValue, seed: latest.writer.site.high))
    }
    return PullScheduler.Change(
      name: lanes.first, writer: latest?.writer.site, reading: latest?.reading ?? .zero)
  }
}

extension DocumentRequest {
  /// Makes a request for what the sender of an announcement lacks.
  fileprivate init(_ announced: AnnouncedDocument) {
    self.init(
      collection: announced.collection, id: announced.id, vector: announced.vector, isHeld: true)
  }
}

extension VersionVector {
  /// Whether both vectors have an element of the same writer.
  fileprivate func sharesWriter(with other: VersionVector) -> Bool {
    other.elements.contains { self[$0.writer] > .zero }
  }
}
