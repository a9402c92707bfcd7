import CRDTCore
import DocStore
import SyncProtocol

/// All that a run is held to, looked at as it happens.
final class Oracles {
  private let script: Script
  /// Documents by what stores call them.
  private let names: [String: [DocumentID: DocumentName]]
  private(set) var shadows: [Shadow]
  /// Two stores of one site have gone apart without a sign.
  ///
  /// Each takes the other's log for its own, and transactions may arrive divided. Nothing is lost, since
  /// their writes bear different names.
  var areCopiesUnnoticed = false
  private var contents: [StateName: Summary] = [:]
  /// Bytes of all documents' records, each as long as it has ever been anywhere.
  private(set) var worldBytes = 0
  private var recordBytes: [DocumentName: Int] = [:]
  /// Documents of which a deletion was evicted.
  private var certified: Set<DocumentName> = []
  /// Documents that were evicted with a floor, which then stays in one store alone.
  private var floored: Set<DocumentName> = []
  private(set) var atomicity: Atomicity
  private var scopes: ScopeWatch
  /// What peers let go of by themselves.
  private(set) var leaves: LeaveOracle

  /// One document at one vector, which is one state wherever it is.
  private struct StateName: Hashable {
    let document: DocumentName
    let vector: VersionVector
    let isAlive: Bool
  }

  init(_ script: Script) {
    self.script = script
    var names: [String: [DocumentID: DocumentName]] = [:]
    for collection in 0..<script.rules.collections {
      for number in 0..<script.rules.documents {
        let name = DocumentName(collection, number)
        if let id = try? DocumentID(name.value) { names[name.collectionName, default: [:]][id] = name }
      }
    }
    self.names = names
    shadows = script.peers.map { _ in Shadow() }
    atomicity = Atomicity(script)
    scopes = ScopeWatch(script)
    leaves = LeaveOracle(script)
  }

  func name(_ id: DocumentID, in collection: String) -> DocumentName? { names[collection]?[id] }

  /// The ids that documents of a collection may have.
  func ids(in collection: String) -> [DocumentID] { names[collection].map { $0.keys.sorted() } ?? [] }

  // MARK: - As it happens

  /// A store was opened: all that was told durable must be there.
  func started(_ peer: SimPeer, _ store: Store) throws {
    let found = try Shadow(store, self)
    let left = try store.documentsLetGo(self)
    for (name, known) in shadows[peer.number].documents where !peer.rotten.contains(name.collection) {
      // Its eviction may have become durable just before the end, and what was written after it.
      let isEvicted = peer.world.ledger.evicted.contains(name)
      guard let now = found.documents[name] else {
        // Nor was it told that it was let go of.
        if let vector = left[name] {
          try leaves.letGo(name, of: peer, shadows, noted: vector)
          continue
        }
        if isEvicted { continue }
        throw Violation(.durability, "\(peer.name) has lost \(name) over a restart")
      }
      guard now.vector.reaches(known.vector) || isEvicted || !script.rules.keepsDeletions else {
        throw Violation(
          .durability,
          "\(peer.name) has \(name) at \(now.vector.text) after a restart, before \(known.vector.text)")
      }
    }
    for transaction in peer.world.ledger.transactions
    where transaction.peer == peer.number && transaction.outcome == .open {
      guard let mark = transaction.mark, !transaction.members.isEmpty else { continue }
      let isThere = transaction.members.contains { found.documents[$0]?.marks.contains(mark) == true }
      peer.world.reach(isThere ? .doubtfulWasDurable : .doubtfulWasLost)
    }
    try adopt(found, at: peer)
  }

  /// Files were exchanged: what is there now is what is known.
  func replaced(_ peer: SimPeer) {
    shadows[peer.number].documents = [:]
    shadows[peer.number].places = [:]
    shadows[peer.number].deaths = [:]
  }

  /// Deletions were forgotten.
  ///
  /// - Returns: The documents whose deletion is not known any more.
  func collected(_ peer: SimPeer, _ store: Store) throws -> Set<DocumentName> {
    let before = shadows[peer.number]
    try adopt(try Shadow(store, self), at: peer)
    let known = shadows[peer.number].documents
    let dead = before.documents.filter { !$0.value.isAlive && known[$0.key]?.vector != $0.value.vector }
    return Set(dead.keys).union(before.deaths.keys)
  }

  private func adopt(_ shadow: Shadow, at peer: SimPeer) throws {
    let old = shadows[peer.number]
    shadows[peer.number] = shadow
    shadows[peer.number].everKnown.formUnion(old.everKnown)
    shadows[peer.number].deaths = old.deaths
    shadows[peer.number].places = old.places
    atomicity.reset(peer.number, shadow)
    if !areCopiesUnnoticed { try atomicity.checkAll(peer, peer.world.ledger) }
  }

  func died(_ peer: SimPeer) {}

  /// A peer is about to write documents: it may tell of them as soon as they are durable.
  func willWrite(_ edits: [EditPlan], at peer: SimPeer) {
    for edit in edits {
      shadows[peer.number].everKnown.insert(edit.document)
      // It may be sent before its commit is told.
      if edit.kind == .pad { noteLength(of: edit.document, edit.value + 8_192) }
    }
  }

  func committed(_ commit: Commit, at peer: SimPeer, _ store: Store) throws {
    for change in commit.changes {
      guard let name = name(change.id, in: change.collection.name) else {
        throw Violation(.errors, "\(peer.name) has a document of nobody: \(change.id.value)")
      }
      switch change.kind {
      case .evict:
        if commit.origin != .user { try leaves.letGo(name, of: peer, shadows) }
        let floor = try change.before?.withView { try $0.floor(sites: change.sites) }
        if floor != .zero { floored.insert(name) }
        // Of a living document nothing is kept but its floor, not even that it was dead once.
        if let known = shadows[peer.number].documents.removeValue(forKey: name) {
          // Nor of a record that cannot be read.
          let isKnownDead = !known.isAlive && !peer.rotten.contains(name.collection)
          shadows[peer.number].deaths[name] = isKnownDead ? known.vector : nil
          if !known.isAlive { certified.insert(name) }
        }
        atomicity.forget(name, at: peer.number)
      case .write:
        guard let after = change.after else { continue }
        noteLength(of: name, after.bytes.count)
        let known = try Shadow.Known(after, change.afterSummary ?? .zero, change)
        if peer.world.tellsFrames {
          peer.world.narrate("\(peer.name) has \(name) at \(known.vector.text), by \(commit.origin)")
        }
        let erasure = try after.withView {
          try $0.isErased(sites: change.sites) ? try $0.floor(sites: change.sites) : Stamp.zero
        }
        try check(known, erasedAt: erasure, of: name, at: peer)
        shadows[peer.number].documents[name] = known
        shadows[peer.number].places[name] = change.sequence
        shadows[peer.number].everKnown.insert(name)
        atomicity.note(known, of: name, at: peer.number)
      }
    }
  }

  private func noteLength(of name: DocumentName, _ count: Int) {
    let before = recordBytes[name] ?? 0
    guard count > before else { return }
    recordBytes[name] = count
    worldBytes += count - before
  }

  /// All commits of one durable step have been told.
  func distributed(at peer: SimPeer, _ store: Store) throws {
    if !areCopiesUnnoticed { try atomicity.checkNew(peer, peer.world.ledger) }
  }

  private func check(
    _ known: Shadow.Known, erasedAt floor: Stamp, of name: DocumentName, at peer: SimPeer
  ) throws {
    if let before = shadows[peer.number].documents[name] {
      // An erased document's vector may lack what its floor covers, and nothing else.
      let isCovered = before.vector.elements.allSatisfy {
        Stamp(reading: $0.reading, site: $0.writer.site) <= floor
          || known.vector.elements.contains($0)
      }
      guard known.vector.reaches(before.vector) || isCovered || !script.rules.keepsDeletions else {
        throw Violation(
          .monotony, "\(peer.name) goes from \(before.vector.text) back to \(known.vector.text) in \(name)")
      }
    }
    if known.isAlive, let death = shadows[peer.number].death(of: name), death.dominates(known.vector),
      script.rules.hasNoDefaults, script.rules.keepsDeletions
    {
      throw Violation(.resurrection, "\(peer.name) shows \(name) again without a later write")
    }
    guard script.rules.hasNoDefaults, script.rules.keepsDeletions, script.rules.hasNoCopies else { return }
    // What is kept of an evicted deletion is its time, which no vector tells: it joins that of another one.
    guard known.isAlive || !certified.contains(name), !floored.contains(name) else { return }
    let state = StateName(document: name, vector: known.vector, isAlive: known.isAlive)
    let first = contents[state] ?? known.summary
    contents[state] = first
    guard first == known.summary else {
      throw Violation(
        .monotony, "two contents of \(name) at \(known.vector.text), one of them at \(peer.name)")
    }
  }

  func willSend(_ bytes: [UInt8], from sender: SimPeer, over connection: Connection) throws {
    try scopes.check(bytes, from: sender, over: connection, shadows)
  }

  func heard(_ event: SyncEvent, by driver: SimDriver) {}

  /// What a session says of bytes that its peer cannot have meant.
  private static let blamesThePeer: Set<SyncError.Code> = [
    .checksum, .malformed, .truncated, .limit, .outOfOrder,
  ]

  /// A session has ended by itself; not all reasons are good ones.
  func closed(_ driver: SimDriver, _ error: SyncError) throws {
    if driver.connection.isGarbled, Self.blamesThePeer.contains(error.code) {
      return driver.peer.world.reach(.garblingWasNoticed)
    }
    switch error.code {
    case .closed, .peerClosed, .timeout: return
    case .siteClash where !script.rules.hasNoCopies: return
    case .cloned where !script.rules.hasNoCopies: return
    default:
      throw Violation(.errors, "\(driver.peer.name) ends a session by itself: \(error)")
    }
  }

  // MARK: - At rest

  /// Judges a world that has come to rest.
  func judge(_ world: World) throws {
    for link in world.links { try link.checkSites() }
    if !areCopiesUnnoticed {
      try atomicity.judge(world)
      try leaves.judge(world)
    }
    try DebtOracle(world).check()
    try CounterOracle(world).check()
    try ModelOracle(world).check()
    for peer in world.peers {
      try checkEvictions(at: peer)
      try checkRest(of: peer)
      for observer in peer.observers { try observer.check(at: peer) }
    }
  }

  /// At rest nothing waits, and nobody holds old pages.
  private func checkRest(of peer: SimPeer) throws {
    for driver in peer.drivers { try driver.checkRest() }
    guard let statistics = try peer.store?.statistics() else { return }
    guard statistics.readerCount <= 1, statistics.waitingWriters == 0 else {
      throw Violation(
        .bounds,
        "\(peer.name) keeps \(statistics.readerCount) snapshots open, \(statistics.waitingWriters) wait")
    }
  }

  /// What was evicted, and nothing asks for, is not there.
  private func checkEvictions(at peer: SimPeer) throws {
    guard script.rules.hasFixedInterests else { return }
    for name in peer.world.ledger.evictedBy[peer.number] ?? [] {
      let isUnwanted = peer.subscriptions.allSatisfy { $0.selects(name) == false }
      if isUnwanted, shadows[peer.number].documents[name]?.isAlive == true {
        throw Violation(.eviction, "\(name) came back to \(peer.name), which asks for it no more")
      }
    }
  }
}

/// What is known of a peer's store from what it told: its documents as of the last commit.
struct Shadow {
  struct Known {
    let vector: VersionVector
    let summary: Summary
    let isAlive: Bool
    /// Marks of transactions that the document shows.
    let marks: Set<Int>
  }

  var documents: [DocumentName: Known] = [:]
  /// The commit that changed a document last, where its commit was told.
  var places: [DocumentName: UInt64] = [:]
  /// What was known of deleted documents when they were evicted.
  var deaths: [DocumentName: VersionVector] = [:]
  /// Also those that it has had and let go.
  var everKnown: Set<DocumentName> = []

  init() {}

  /// What is known of a document that is known to be deleted.
  func death(of name: DocumentName) -> VersionVector? {
    guard let known = documents[name] else { return deaths[name] }
    return known.isAlive ? nil : known.vector
  }

  /// Reads a store as it stands.
  init(_ store: Store, _ oracles: Oracles) throws {
    documents = try store.read { transaction in
      var found: [DocumentName: Known] = [:]
      let sites = transaction.sites
      for info in try transaction.collections() {
        guard let collection = try transaction.collection(info.name) else { continue }
        try transaction.forEachIntactRecord(in: collection, damaged: { _ in }) { _, id, summary, record in
          guard let name = oracles.name(try DocumentID(validating: id), in: info.name) else { return true }
          found[name] = try Known(record, summary, sites, collection.keys)
          return true
        }
      }
      return found
    }
    everKnown = Set(documents.keys)
  }
}

extension Store {
  /// The names of all documents, removed and damaged ones too.
  func documentNames() throws -> Set<DocumentName> {
    try read { transaction in
      var names: Set<DocumentName> = []
      for info in try transaction.collections() {
        guard let collection = try transaction.collection(info.name), let number = Int(info.name.dropFirst())
        else { continue }
        try transaction.forEachIntactRecord(
          in: collection,
          damaged: { record in
            if let id = record.id, let name = DocumentName(id.bytes.span.bytes, number) { names.insert(name) }
          }
        ) { _, id, _, _ in
          if let name = DocumentName(id, number) { names.insert(name) }
          return true
        }
      }
      return names
    }
  }
}

extension Shadow.Known {
  init(_ record: Record, _ summary: Summary, _ change: Change) throws {
    self = try record.withView { view throws(any Error) in
      try Self(view, summary, change.sites, change.collection.keys)
    }
  }

  init(_ record: borrowing RecordView, _ summary: Summary, _ sites: SiteTable, _ keys: KeyTable) throws {
    vector = try record.vector(sites: sites)
    self.summary = summary
    isAlive = record.isAlive
    var path = ResolvedPath([.key("tx")])
    path.resolve(in: keys)
    if record.isAlive, let value = record.value(at: path), case .map(let map) = try value.materialize(keys) {
      marks = Set(map.keys.compactMap { Int($0.text) })
    } else {
      marks = []
    }
  }
}
