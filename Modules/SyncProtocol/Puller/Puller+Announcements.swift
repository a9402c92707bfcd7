import CRDTCore
import DocStore
import Failpoints

/// What a sender announces is asked for unless it comes from elsewhere.
extension Puller {
  /// Frames received without anything wanted coming in, after which it is looked for otherwise.
  private static var patience: Duration { .seconds(10) }
  /// What waits for groups that are being applied is looked at this often.
  private static var applyingInterval: Duration { .milliseconds(50) }
  /// Settled announcements are told of this often.
  private static var tellingInterval: Duration { .milliseconds(250) }
  /// So many settled announcements are told of at once, or an eighth of the documents that may be open.
  private static var tellingCount: UInt64 { 256 }

  /// How this peer stands to an announced document.
  private struct Standing {
    var isLacking: Bool
    var isHere = false
    /// What this peer includes.
    var vector = VersionVector()
    /// Whether that includes what was announced.
    var isIncluded = false
    /// Whether it is of this peer's interest: default data has no vector that would tell the sender so.
    var isHeld = false
    /// Whether this peer has what the sender's state lacks, and the sender does not hear of it by itself: of a deletion
    /// that others have forgotten no vector tells.
    var isOwed = false
  }

  /// Takes announced groups.
  ///
  /// - Returns: What the sender lacks.
  func take(_ announcement: Announcement) throws(SyncError) -> [DocumentRequest] {
    let groups = announcement.groups.map { group in
      AnnouncedGroups.Group(
        number: announced.countOne(), documents: group.filter { concerns($0.collection) },
        changes: [], since: context.now, deadline: context.now, standing: .held(isBehind: false))
    }
    context.statistics.groupsHeard += UInt64(groups.count)
    // What is not taken in from there may be held here all the same, and be asked for.
    var owed = announcement.groups.joined().filter { $0.isHeld && !concerns($0.collection) }
      .map { DocumentRequest($0) }
    try readStandings { standing in
      for group in groups where !group.documents.isEmpty {
        try take(group, group.documents.map(standing), &owed)
      }
    }
    sendPulls()
    return owed
  }

  /// Whether a document has left that may be on its way as it was: then it concerns this peer when that is here.
  private func isEarly(_ documents: [AnnouncedDocument], _ standings: [Standing]) -> Bool {
    !queue.isApplied && zip(documents, standings).contains(where: mayCome)
  }

  /// Whether a document has left that is not here, or is here in an older state that is of no interest either.
  private func mayCome(_ document: AnnouncedDocument, _ standing: Standing) -> Bool {
    document.leaves && (!standing.isHere || !standing.isHeld && !standing.isIncluded)
  }

  private func want(_ document: AnnouncedDocument, _ standing: Standing) -> DocumentWant {
    // The same version of another content is settled by the whole of the sender's state.
    let isWhole = standing.isLacking && standing.isIncluded && !standing.vector.isEmpty
    return DocumentWant(
      DocumentVersion(
        collection: document.collection, id: document.id, vector: isWhole ? VersionVector() : standing.vector),
      isHeld: standing.isHeld || isWhole, context.gatekeeper)
  }

  private func concerns(_ collection: String) -> Bool {
    interest.covers(collection) && context.gatekeeper?.mayAccept(collection) ?? false
  }

  private func take(
    _ group: AnnouncedGroups.Group, _ standings: [Standing], _ owed: inout [DocumentRequest]
  ) throws {
    let isEarly = isEarly(group.documents, standings)
    guard isEarly || standings.contains(where: \.isLacking) else {
      owed += requests(group.documents, standings)
      return
    }
    // What is early may come to be lacking.
    let changes = zip(group.documents, standings).compactMap { isEarly || $1.isLacking ? $0.change : nil }
    let room = context.tuning.announcedDocuments * 2
    guard announced.documentCount + group.documents.count <= room,
      scheduler.admit(changes.count, of: context.id)
    else {
      // What belongs together is asked for at once: by the time that all is compared, the sender may have forgotten what
      // it binds. One document can wait for that, and what is early has to.
      let isBound = group.documents.count > 1
      if isBound, standings.contains(where: \.isLacking) { pulls.append(wants(of: group, standings)) }
      for (document, standing) in zip(group.documents, standings)
      where !isBound || isEarly && mayCome(document, standing) { compareWhenApplied(document.collection) }
      return
    }
    var group = AnnouncedGroups.Group(
      number: group.number, documents: group.documents, changes: changes, since: group.since,
      deadline: group.deadline, standing: group.standing)
    (group.standing, group.deadline) =
      isEarly
      ? (.early(until: queue.receivedGroups), context.now + Self.applyingInterval)
      : decide(group, standings, isNew: true)
    announced.append(group)
  }

  /// Looks at those announcements whose time has come.
  ///
  /// - Returns: What the sender lacks.
  func lookAtAnnouncements() throws(SyncError) -> [DocumentRequest] {
    guard announced.isDue(now: context.now) else { return [] }
    var owed: [DocumentRequest] = []
    var looking = announced
    try readStandings { standing in
      try looking.look(now: context.now) { group in
        if case .lost(let round) = group.standing {
          guard phase == .done, due == .nothing, self.round > round else {
            return (group.standing, context.now + Self.tellingInterval)
          }
          scheduler.dismiss(group.changes, of: context.id)
          return nil
        }
        if group.standing == .wanted {
          // A state that no vector tells apart is settled by whatever answered.
          let isHere = try group.documents.allSatisfy { document in
            let standing = try standing(document)
            return !standing.isLacking || document.hash != nil && standing.isIncluded
          }
          guard isHere || SyncDefect.announcementForgotten.isPlanted else { return waitLonger(for: group) }
          scheduler.dismiss(group.changes, of: context.id)
          return nil
        }
        let standings = try group.documents.map(standing)
        if case .early(let last) = group.standing {
          guard queue.appliedGroups >= last else {
            return (group.standing, context.now + Self.applyingInterval)
          }
          if standings.contains(where: \.isLacking) { return decide(group, standings, isNew: true) }
        }
        guard standings.allSatisfy({ !$0.isLacking }) || SyncDefect.announcementForgotten.isPlanted else {
          return decide(group, standings, isNew: false)
        }
        owed += requests(group.documents, standings)
        scheduler.dismiss(group.changes, of: context.id)
        return nil
      }
    }
    announced = looking
    sendPulls()
    return owed
  }

  /// What to do about a group that was asked for and is not here yet.
  private func waitLonger(for group: AnnouncedGroups.Group) -> (AnnouncedGroups.Standing, deadline: Duration)
  {
    let end = max(queue.progressedAt, group.since) + Self.patience
    guard context.now >= end else { return (.wanted, min(end, context.now + Self.patience / 4)) }
    SyncPoint.announcementLost.reached()
    for document in group.documents { due.add(document.collection) }
    return (.lost(round: round), context.now + Self.tellingInterval)
  }

  /// What to do about a group of which something is lacking.
  private func decide(
    _ group: AnnouncedGroups.Group, _ standings: [Standing], isNew: Bool
  ) -> (AnnouncedGroups.Standing, deadline: Duration) {
    let decision = scheduler.decide(
      group.changes, for: context.id, waited: isNew ? nil : context.now - group.since, now: context.now)
    switch decision {
    case .wait(let hold, let isBehind): return (.held(isBehind: isBehind), context.now + hold)
    case .want:
      (isNew ? SyncPoint.pulledAtOnce : .pulledLate).reached()
      pulls.append(wants(of: group, standings))
      // What is asked for is looked at often: those behind it go by what this session says of it.
      return (.wanted, context.now + PullScheduler.holds.upperBound / 4)
    }
  }

  private func wants(of group: AnnouncedGroups.Group, _ standings: [Standing]) -> [DocumentWant] {
    // Who may not tell what it holds asks as if it held it: what has left, and is not here, must not come so.
    zip(group.documents, standings).filter { $1.isLacking || $1.isHere }.map(want)
  }

  /// Asks for what was decided on, each group as one.
  private func sendPulls() {
    let waiting = pulls
    pulls = []
    context.statistics.groupsPulled += UInt64(waiting.count)
    sendWants(waiting.filter { $0.count == 1 }.flatMap(\.self), round: 0, isGroup: false, isGraft: true)
    for wants in waiting where wants.count > 1 {
      sendWants(wants, round: 0, isGroup: true, isGraft: true)
    }
  }

  /// What is to be sent back of documents that the sender holds and has less of.
  private func requests(_ documents: [AnnouncedDocument], _ standings: [Standing]) -> [DocumentRequest] {
    zip(documents, standings).compactMap { document, standing in
      standing.isOwed ? DocumentRequest(document) : nil
    }
  }

  /// Reads the store while `body` asks how this peer stands to documents.
  private func readStandings(
    _ body: ((AnnouncedDocument) throws -> Standing) throws -> Void
  ) throws(SyncError) {
    let leaves = context.shared.leaves
    let interest = interest
    try context.read { transaction in
      let sites = transaction.sites
      let hasLeft = try transaction.hasLeavingNotes()
      // Of what is too large nothing is announced.
      let isAnnounced = try transaction.oversizeDocuments().isEmpty
      var followed: (collection: UInt32, log: FollowedLog?)?
      try body { document in
        guard let collection = try transaction.collection(document.collection) else {
          return Standing(isLacking: !document.leaves)
        }
        if followed?.collection != collection.id {
          followed = (collection.id, isAnnounced ? followedLog(collection) : nil)
        }
        let matcher = interest.matcher(for: collection)
        var found: Standing?
        // What is damaged here cannot be merged with.
        try transaction.visitIntactRecord(
          collection, document.id,
          damaged: {
            found = Standing(isLacking: false)
            context.tellDamaged($0)
          }
        ) { place, record, summary in
          let id = document.id.bytes.span.bytes
          let vector = try record.vector(sites: sites)
          let isSame = document.hash.map { $0 == Fingerprint.hash(id: id, summary: summary) }
          let isHeld = matcher?.matches(id, record) ?? false
          let isIncluded = vector.dominates(document.vector)
          // Of another version the contents are others anyway.
          let tellsContent = document.vector.isEmpty || document.vector == vector
          let isLacking = !isIncluded || isSame == false && tellsContent
          var isOwed =
            document.isHeld
            && (!document.vector.dominates(vector) || vector.isEmpty && isSame != true || !record.isAlive)
          if isOwed, !vector.isEmpty, let place,
            followed?.log?.tells(id, record, at: place.sequence) ?? false
          {
            // It is announced to the sender as well, which asks for what it lacks.
            isOwed = false
          }
          found = Standing(
            isLacking: isLacking && (isHeld || !document.leaves), isHere: true, vector: vector,
            isIncluded: isIncluded, isHeld: isHeld, isOwed: isOwed)
        }
        if let found { return found }
        if hasLeft,
          let left = leaves.vectorLeft(
            try transaction.leavingNote(for: document.id, in: collection), in: document.collection),
          left.dominates(document.vector)
        {
          return Standing(isLacking: false, vector: left)
        }
        return Standing(isLacking: !document.leaves)
      }
    }
  }

  // MARK: - What the sender is told

  /// Tells which announcements are settled, if it is time.
  func tellSettled() {
    guard announced.settled > announced.told.settled else { return }
    let isMuch =
      announced.settled - announced.told.settled >= Self.tellingCount
      || announced.untold >= context.tuning.announcedDocuments / 8
    guard isMuch || context.now - announced.told.at >= Self.tellingInterval else { return }
    sendPrune()
  }

  /// When something about announcements is to be done next.
  var announcementsTime: Duration? {
    let telling =
      announced.settled > announced.told.settled ? announced.told.at + Self.tellingInterval : nil
    guard let deadline = announced.deadline else { return telling }
    return telling.map { min($0, deadline) } ?? deadline
  }

  private func sendPrune(forwards: Bool = false, own: Bool = false) {
    announced.tell(now: context.now)
    let prune = Prune(forwards: forwards, own: own, settled: announced.settled)
    context.send(.prune) { prune.encode(to: &$0) }
  }

  /// Has the sender announce what others brought before.
  ///
  /// What it forwards, at once; what it writes itself, after some in a row.
  func prune(_ groups: [IncomingGroup], known: Set<Int>) {
    context.statistics.groupsKnown += UInt64(known.count)
    // What can come no other way is not to be announced, even if it came twice.
    guard scheduler.hasOthers(than: context.id) else { return }
    var forwards = false
    for (index, group) in groups.enumerated() {
      guard group.isLive else { continue }
      if group.isForwarded {
        forwards = forwards || known.contains(index)
      } else {
        knownOwnGroups = known.contains(index) ? knownOwnGroups + 1 : 0
      }
    }
    let own = knownOwnGroups >= 3
    if own { knownOwnGroups = 0 }
    guard forwards || own else { return }
    (own ? SyncPoint.prunedOwn : .prunedForwards).reached()
    sendPrune(forwards: forwards, own: own)
  }

  private var scheduler: PullScheduler { context.shared.pulls }
}

extension AnnouncedDocument {
  /// Its latest write alone: of the ones before it, and of the state, some senders tell and some do not.
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
  /// The sender of an announcement lacks something of what it holds.
  fileprivate init(_ announced: AnnouncedDocument) {
    self.init(
      collection: announced.collection, id: announced.id, vector: announced.vector, isHeld: true)
  }
}
