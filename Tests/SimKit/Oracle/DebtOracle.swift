import CRDTCore
import DocStore
import QueryEngine
import SyncProtocol

/// At rest, no sender owes its neighbour a document.
///
/// A sender owes a document that concerns the receiver, may flow to it, and would change anything there.
struct DebtOracle {
  private let world: World
  private var stores: [[String: CollectionState]] = []

  init(_ world: World) throws {
    self.world = world
    stores = try world.peers.map { try $0.states() }
  }

  func check() throws {
    for link in world.links where link.a.exists && link.b.exists {
      try check(from: link.a, to: link.b)
      try check(from: link.b, to: link.a)
      try compare(link.a, link.b)
    }
  }

  private func check(from sender: SimPeer, to receiver: SimPeer) throws {
    for collection in Set(receiver.subscriptions.map(\.collection)).sorted()
    where sender.maySend(collection, to: receiver)
      && !sender.rotten.union(receiver.rotten).contains(collection)
    {
      let plans = receiver.subscriptions.filter { $0.collection == collection }
      let name = "c\(collection)"
      guard let here = stores[sender.number][name] else { continue }
      let there = stores[receiver.number][name]
      let matchesHere = try here.matching(plans)
      let matchesThere = try there?.matching(plans) ?? []
      for (id, mine) in here.documents.sorted(by: { $0.key < $1.key }) where !mine.isOversize {
        guard matchesHere.contains(id) || matchesThere.contains(id) else { continue }
        // Of a deletion that the receiver has forgotten, who goes on from a cursor does not speak again.
        if let document = world.oracles.name(id, in: name), receiver.forgotten.contains(document) { continue }
        // Nor is a state before the one that the receiver evicted, even if the receiver has written the
        // document anew since.
        if let document = world.oracles.name(id, in: name),
          world.oracles.leaves.isPast(mine.vector, of: document, at: receiver)
        {
          continue
        }
        // A receiver that must not say what it holds cannot be answered with a deletion that is known only
        // from a certificate.
        if mine.isCertificate, !receiver.maySend(collection, to: sender) { continue }
        guard let reason = try debt(mine, there?.documents[id]) else { continue }
        throw Violation(
          .convergence, "\(sender.name) owes \(receiver.name) \(name)/\(id.value): \(reason)")
      }
    }
  }

  /// What both ends of a link may know of, and both ask for, is the same at both to the last byte.
  ///
  /// This does not hold if one of them has forgotten deletions, or holds default data, which no version
  /// vector shows.
  private func compare(_ a: SimPeer, _ b: SimPeer) throws {
    guard world.script.rules.keepsDeletions, world.script.rules.hasNoDefaults else { return }
    for collection in 0..<world.script.rules.collections
    where a.maySend(collection, to: b) && b.maySend(collection, to: a)
      && !a.rotten.union(b.rotten).contains(collection)
    {
      let name = "c\(collection)"
      guard let here = stores[a.number][name], let there = stores[b.number][name] else { continue }
      let plans = (a: a.subscriptions, b: b.subscriptions)
      let shared = try here.matching(plans.a.filter { $0.collection == collection })
        .intersection(try there.matching(plans.b.filter { $0.collection == collection }))
      for id in shared.sorted() {
        guard let mine = here.documents[id], let theirs = there.documents[id], !mine.isOversize,
          !theirs.isOversize, try mine.canonical() != theirs.canonical(),
          mine.vector == theirs.vector || !mine.isSame(as: theirs)
        else { continue }
        // What the floor covers, one of them may list and the other not: with that they are the same.
        if mine.vector != theirs.vector, try mine.hidesAll(of: theirs), try theirs.hidesAll(of: mine),
          try mine.joined(with: theirs)?.canonical() == theirs.joined(with: mine)?.canonical()
        {
          continue
        }
        throw Violation(
          .convergence,
          "\(a.name) and \(b.name) have other bytes of \(name)/\(id.value), "
            + "\(mine.vector.text) and \(theirs.vector.text)")
      }
    }
  }

  private func debt(_ mine: DocumentCopy, _ theirs: DocumentCopy?) throws -> String? {
    // Of a deletion that nobody asked for nothing need be known.
    guard let theirs else { return mine.isAlive ? "it is missing" : nil }
    if mine.isSame(as: theirs) { return nil }
    guard try theirs.gains(from: mine) else { return nil }
    return mine.vector == theirs.vector
      ? "equal vectors, other content" : "\(theirs.vector.text) lacks \(mine.vector.text)"
  }
}

/// The documents of a collection in one store.
struct CollectionState {
  let keys: KeyTable
  var documents: [DocumentID: DocumentCopy] = [:]

  /// The living documents that match one of the queries.
  func matching(_ plans: [SubscriptionPlan]) throws -> Set<DocumentID> {
    var found: Set<DocumentID> = []
    for plan in plans {
      var matcher = try plan.query().matcher
      matcher.resolve(keys)
      for (id, copy) in documents where copy.isAlive && !found.contains(id) {
        let matches = copy.record.withView { matcher.matches(id.bytes.span.bytes, $0) }
        if matches { found.insert(id) }
      }
    }
    return found
  }
}

/// A document as one store has it.
struct DocumentCopy {
  let record: Record
  let summary: Summary
  let vector: VersionVector
  let isAlive: Bool
  let isOversize: Bool
  let tables: RecordTables

  /// Whether all that is known is that it was deleted.
  var isCertificate: Bool { !isAlive && vector.isEmpty }

  /// The one form that its state has between peers.
  func canonical() throws -> [UInt8] {
    var wire = ByteWriter()
    try record.withView { view throws(any Error) in
      try WireDocument.append(view, lacking: VersionVector(), tables: tables, to: &wire)
    }
    return wire.bytes
  }

  /// Whether it is the same state, whichever superseded writers each of them lists.
  func isSame(as other: DocumentCopy) -> Bool { summary == other.summary }

  /// Whether merging another peer's state would change more than the list of superseded writers, and
  /// writes that the floor covers.
  func gains(from other: DocumentCopy) throws -> Bool {
    if vector != other.vector, vector.dominates(other.vector) { return false }
    guard let joined = try joined(with: other) else { return false }
    if joined.summary == summary { return false }
    return try vector == other.vector || joined.isAlive != isAlive || joined.floor() != floor()
      || !hidesAll(of: other)
  }

  /// The state that merging another peer's state makes; `nil` when it stays as it is.
  func joined(with other: DocumentCopy) throws -> DocumentCopy? {
    let wire = try other.canonical()
    var tables = tables
    let existing = StoredDocument(record.bytes.span.bytes, summary: summary)
    let own = SiteID(high: 1, low: 1)
    let outcome =
      vector == other.vector
      ? try DocumentCodec.repair(wire: wire.span.bytes, existing: existing, own: own, tables: &tables)
      : try DocumentCodec.merge(wire: wire.span.bytes, existing: existing, own: own, tables: &tables)
    guard case .changed(let merged) = outcome else { return nil }
    let record = Record(bytes: merged.record)
    return DocumentCopy(
      record: record, summary: merged.summary,
      vector: try record.withView { try $0.vector(sites: tables.sites) }, isAlive: merged.isAlive,
      isOversize: isOversize, tables: tables)
  }

  func floor() throws -> Stamp { try record.withView { try $0.floor(sites: tables.sites) } }

  /// Whether all that it lacks of another peer's state is at or below its floor.
  ///
  /// A peer to which such writes came while it knew nothing but the deletion has dropped them from its
  /// vector.
  func hidesAll(of other: DocumentCopy) throws -> Bool {
    let floor = try floor()
    let lacking = other.vector.elements.filter { !vector.covers($0.writer, at: $0.reading) }
    return lacking.allSatisfy { Stamp(reading: $0.reading, site: $0.writer.site) <= floor }
  }
}

extension SimPeer {
  /// All collections as they stand, what is left of deleted documents included.
  func states() throws -> [String: CollectionState] {
    guard let store else { return [:] }
    return try store.read { transaction in
      var states: [String: CollectionState] = [:]
      let oversize = Set(try transaction.oversizeDocuments().map { "\($0.collection)/\($0.id.value)" })
      let sites = transaction.sites
      for info in try transaction.collections() {
        guard let collection = try transaction.collection(info.name) else { continue }
        var state = CollectionState(keys: collection.keys)
        let tables = RecordTables(keys: collection.keys, sites: sites)
        try transaction.forEachIntactRecord(in: collection, damaged: { _ in }) { _, id, summary, record in
          let key = try DocumentID(validating: id)
          state.documents[key] = DocumentCopy(
            record: Record(copying: record), summary: summary, vector: try record.vector(sites: sites),
            isAlive: record.isAlive,
            isOversize: oversize.contains("\(info.name)/\(key.value)"), tables: tables)
          return true
        }
        for id in world.oracles.ids(in: info.name) where state.documents[id] == nil && rotten.isEmpty {
          try transaction.withRecord(collection, id) { record, summary in
            state.documents[id] = DocumentCopy(
              record: Record(copying: record), summary: summary, vector: try record.vector(sites: sites),
              isAlive: record.isAlive, isOversize: false, tables: tables)
          }
        }
        states[info.name] = state
      }
      return states
    }
  }

  /// Whether it subscribes to all documents of all collections.
  func wantsEverything(of world: World) -> Bool {
    (0..<world.script.rules.collections).allSatisfy { collection in
      subscriptions.contains { $0.collection == collection && $0.form == .all }
    }
  }

  /// Whether what others write gets here: over peers that subscribe to everything themselves.
  func isReached(in world: World) -> Bool {
    var reached: Set<Int> = [number]
    var waiting = [number]
    while let next = waiting.popLast() {
      for link in world.links where link.plan.a == next || link.plan.b == next {
        let other = link.plan.a == next ? link.plan.b : link.plan.a
        guard reached.insert(other).inserted else { continue }
        if world.peers[other].wantsEverything(of: world) { waiting.append(other) }
      }
    }
    return world.peers.allSatisfy { !$0.exists || reached.contains($0.number) }
  }
}

extension SubscriptionPlan {
  func query() throws -> SubscriptionQuery { try SubscriptionQuery(dql: text) }
}

extension DocumentName {
  /// Finds the name that an id stands for.
  init?(_ id: RawSpan, _ collection: Int) {
    guard let value = try? DocumentID.decode(id) else { return nil }
    switch value {
    case .int(let number): self.init(collection, Int(number) + 8)
    case .string(let text):
      guard let number = text.split(separator: "~").last.flatMap({ Int($0) }) else { return nil }
      self.init(collection, number)
    default: return nil
    }
  }
}
