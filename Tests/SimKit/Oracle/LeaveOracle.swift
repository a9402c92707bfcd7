import CRDTCore
import DocStore
import QueryEngine
import SyncProtocol

/// Checks what happens to documents that leave a subscription that evicts.
///
/// Such a document is evicted if nothing is lost by that, and stays if something would be. It does not come
/// back in its old state.
struct LeaveOracle {
  private struct State {
    let vector: VersionVector
    /// What the peer subscribed to of the collection then.
    let subscriptions: Set<String>
  }

  private let rules: Rules
  /// What each peer let go of, in which state.
  private var left: [[DocumentName: State]]

  init(_ script: Script) {
    rules = script.rules
    left = script.peers.map { _ in [:] }
  }

  /// A peer has let go of a document by itself: another one must have all that was known of it there.
  ///
  /// `noted` is what its store remembers of that, where the peer died before it could be told.
  mutating func letGo(
    _ name: DocumentName, of peer: SimPeer, _ shadows: [Shadow], noted: VersionVector = VersionVector()
  ) throws {
    guard let known = shadows[peer.number].documents[name] else { return }
    // Also where it was written anew since, under another birth, and has gone again.
    var vector = left[peer.number][name]?.vector ?? VersionVector()
    vector.join(noted)
    vector.join(known.vector)
    left[peer.number][name] = State(
      vector: vector, subscriptions: Self.subscriptions(of: name.collection, at: peer))
    let isEvictedElsewhere = peer.world.ledger.evicted.contains(name)
    peer.world.ledger.willEvict([name])
    guard rules.keepsDeletions, rules.hasNoCopies, rules.rotten == nil, !isEvictedElsewhere else { return }
    let isKept = shadows.indices.contains { other in
      other != peer.number && shadows[other].documents[name]?.vector.reaches(known.vector) == true
    }
    guard isKept else {
      throw Violation(
        .eviction, "\(peer.name) lets go of \(name) at \(known.vector.text), which nobody else has")
    }
  }

  /// Whether a peer asks for no more than when it let go of a later state of a document than this one.
  func isPast(_ vector: VersionVector, of name: DocumentName, at peer: SimPeer) -> Bool {
    guard let state = left[peer.number][name] else { return false }
    return state.vector.reaches(vector)
      && Self.subscriptions(of: name.collection, at: peer).isSubset(of: state.subscriptions)
  }

  private static func subscriptions(of collection: Int, at peer: SimPeer) -> Set<String> {
    Set(peer.subscriptions.filter { $0.collection == collection }.map(\.text))
  }

  /// At rest nothing waits to be let go of that a peer at hand keeps.
  func judge(_ world: World) throws {
    guard rules.rotten == nil else { return }
    // Who asks for nothing that lets go any more may keep what it has.
    for peer in world.peers where peer.subscriptions.contains(where: { $0.evicts == true }) {
      for copy in try peer.leaving() {
        for link in world.links where link.a === peer || link.b === peer {
          let other = link.a === peer ? link.b : link.a
          guard let name = world.oracles.name(copy.id, in: copy.collection.name),
            peer.maySend(name.collection, to: other), try other.keeps(copy, name)
          else { continue }
          throw Violation(
            .eviction, "\(peer.name) does not let go of \(name), which left and is kept by \(other.name)")
        }
      }
    }
  }
}

/// A document that has left all subscriptions, and is to be let go of.
private struct LeavingCopy {
  let id: DocumentID
  let collection: Collection
  let record: Record
  let vector: VersionVector
}

extension SimPeer {
  fileprivate func leaving() throws -> [LeavingCopy] {
    try store?.read { transaction in
      var found: [LeavingCopy] = []
      let sites = transaction.sites
      try transaction.forEachLeavingNote { note in
        guard case .leaving = LeavingState(note.bytes),
          let collection = try transaction.collection(note.collection.name)
        else { return true }
        let copy = try transaction.withRecord(collection, note.id) { record, _ in
          LeavingCopy(
            id: note.id, collection: collection, record: Record(copying: record),
            vector: try record.vector(sites: sites))
        }
        if let copy { found.append(copy) }
        return true
      }
      return found
    } ?? []
  }

  /// Whether it has this very state of a document, and subscribes to it.
  fileprivate func keeps(_ copy: LeavingCopy, _ name: DocumentName) throws -> Bool {
    guard world.oracles.shadows[number].documents[name]?.vector == copy.vector else { return false }
    return try subscriptions.contains { plan in
      guard plan.collection == name.collection else { return false }
      var matcher = try plan.query().matcher
      matcher.resolve(copy.collection.keys)
      return copy.record.withView { $0.isAlive && matcher.matches(copy.id.bytes.span.bytes, $0) }
    }
  }
}

extension Store {
  /// What was let go of here, and in which state, as far as the store remembers.
  func documentsLetGo(_ oracles: Oracles) throws -> [DocumentName: VersionVector] {
    try read { transaction in
      var found: [DocumentName: VersionVector] = [:]
      try transaction.forEachLeavingNote { note in
        if case .left(let vector, _) = LeavingState(note.bytes),
          let name = oracles.name(note.id, in: note.collection.name)
        {
          found[name] = vector
        }
        return true
      }
      return found
    }
  }
}
