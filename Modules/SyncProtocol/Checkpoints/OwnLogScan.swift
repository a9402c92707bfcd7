import CRDTCore
import DocStore
import Failpoints

/// A scan of this peer's own log for changes that the sender must learn of.
struct OwnLogScan {
  private(set) var place: UInt64
  private(set) var budget: Int
  /// The number of notices that may still be sent.
  var room: Int
  private(set) var notices: [DocumentHave] = []
  private(set) var evicted: [DocumentName] = []
  /// Collections to reconcile, because notices are forbidden or would be too many.
  private(set) var unsaid: Set<TextKey> = []
  /// Whether an evicted document's id is no longer in the log.
  private(set) var isIncomplete = false
  private(set) var isDone = false
  /// Whether there are more notices than room.
  private(set) var isFull = false
  /// Whether the pusher announces some changes, so that they need no notice.
  private(set) var hasAnnounced = false
  /// Records that the log names and that cannot be read.
  private(set) var damaged: Set<DamagedRecord> = []
  /// Whether the scan only finds out if there is enough room.
  private let isTrial: Bool

  init(after place: UInt64, budget: Int, room: Int = 0, isTrial: Bool = false) {
    self.place = place
    self.budget = budget
    self.room = room
    self.isTrial = isTrial
  }

  /// Returns whether the room suffices even if every document that the log names needs a notice.
  static func fits(
    _ room: Int, after place: UInt64, _ snapshot: borrowing ReadTransaction, sender: LogOrigin
  ) throws -> Bool {
    var left = room
    try snapshot.changes(after: place) { entry in
      if entry.kind == .evicted {
        left -= entry.evicted.count
      } else if entry.origin != sender {
        left -= entry.memberCount
      }
      return left >= 0
    }
    return left >= 0
  }

  mutating func run(
    _ snapshot: borrowing ReadTransaction, sender: LogOrigin, _ interest: Interest,
    _ gatekeeper: Gatekeeper?, followedLog: (Collection) -> FollowedLog?
  ) throws {
    guard let gatekeeper else { return }
    let isTrial = isTrial
    var state = self
    var isPaused = false
    let sites = snapshot.sites
    let names = try Self.names(snapshot, interest, gatekeeper)
    let followed = names.compactMapValues(followedLog)
    try snapshot.changes(after: place) { entry in
      if isTrial, state.isFull { return false }
      // The scan stops only between commits, so that `place` is always the sequence number of a commit.
      guard state.budget > 0 || entry.sequence == state.place else {
        isPaused = true
        return false
      }
      let sequence = entry.sequence
      state.budget -= 1
      state.place = sequence
      if entry.kind == .evicted {
        if !SyncDefect.evictionsForgotten.isPlanted { state.addEvicted(entry, names, gatekeeper) }
      } else if entry.origin != sender, !SyncDefect.ownLogNotTold.isPlanted {
        try entry.forEachMember(
          where: { collection, _ in
            guard names[collection] != nil else { return false }
            guard followed[collection]?.reportsAll(at: sequence) ?? false else { return true }
            state.hasAnnounced = true
            return false
          }, damaged: { state.damaged.insert($0) }
        ) { collection, _, id, summary, record in
          state.budget -= 1
          guard let known = names[collection], let matcher = interest.matcher(for: known),
            matcher.matches(id, record), gatekeeper.mayRead(known, id, record)
          else { return true }
          if followed[collection]?.reports(id, record, at: sequence) ?? false {
            state.hasAnnounced = true
            return true
          }
          guard state.room > 0 else {
            state.isFull = true
            state.unsaid.insert(known.name)
            return true
          }
          guard let cleared = gatekeeper.clear(known, id, record) else {
            state.unsaid.insert(known.name)
            return true
          }
          state.room -= 1
          if isTrial { return true }
          state.notices.append(
            DocumentHave(
              cleared, id: DocumentID(trusted: id.copied), hash: Fingerprint.hash(id: id, summary: summary),
              vector: try record.vector(sites: sites)))
          return true
        }
      }
      return true
    }
    state.isDone = !isPaused
    if state.isDone { state.place = max(state.place, snapshot.sequence) }
    self = state
  }

  private mutating func addEvicted(
    _ entry: borrowing LogEntry, _ names: [UInt32: Collection], _ gatekeeper: Gatekeeper
  ) {
    if !entry.isEvictionComplete { isIncomplete = true }
    for key in entry.evicted {
      guard let collection = names[key.collection],
        gatekeeper.mayRead(collection.name, key.id)
      else { continue }
      if room == 0 { isFull = true }
      // Where fields decide, the sender may not have been allowed to read what was evicted.
      if room > 0, gatekeeper.maySend(collection.name), !gatekeeper.dependsOnFields(of: collection.name) {
        room -= 1
        evicted.append(DocumentName(collection: collection.name, id: key.id))
      } else {
        unsaid.insert(collection.name)
      }
    }
  }

  /// Returns the collections that this peer pulls from the sender, by number.
  private static func names(
    _ snapshot: borrowing ReadTransaction, _ interest: Interest, _ gatekeeper: Gatekeeper
  ) throws -> [UInt32: Collection] {
    var names: [UInt32: Collection] = [:]
    for name in interest.names where gatekeeper.mayAccept(name) {
      if let collection = try snapshot.collection(name) { names[collection.id] = collection }
    }
    return names
  }
}
