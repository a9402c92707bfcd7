import CRDTCore
import DocStore
import Failpoints

/// A walk along this peer's own log that finds what a sender has to be told.
struct OwnLogScan {
  private(set) var place: UInt64
  private(set) var budget: Int
  /// How many documents may yet be told of.
  var room: Int
  private(set) var notices: [DocumentHave] = []
  private(set) var evicted: [DocumentName] = []
  /// Collections of which something may not be told, or is too much: they are to be compared.
  private(set) var unsaid: Set<TextKey> = []
  /// Something left that nobody knows the name of any more.
  private(set) var isIncomplete = false
  private(set) var isDone = false
  /// More is to be told than there is room for.
  private(set) var isFull = false
  /// Something is left to be told by announcing it.
  private(set) var hasAnnounced = false
  /// What cannot be read of what the log names.
  private(set) var damaged: Set<DamagedRecord> = []
  /// It is to be known only whether there is room.
  private let isTrial: Bool

  init(after place: UInt64, budget: Int, room: Int = 0, isTrial: Bool = false) {
    self.place = place
    self.budget = budget
    self.room = room
    self.isTrial = isTrial
  }

  /// Whether there is room to tell of all documents that the log names, whatever they are.
  static func fits(
    _ room: Int, after place: UInt64, _ transaction: borrowing ReadTransaction, sender: LogOrigin
  ) throws -> Bool {
    var left = room
    try transaction.changes(after: place) { entry in
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
    _ transaction: borrowing ReadTransaction, sender: LogOrigin, _ interest: Interest,
    _ gatekeeper: Gatekeeper?, followedLog: (Collection) -> FollowedLog?
  ) throws {
    guard let gatekeeper else { return }
    let isTrial = isTrial
    var state = self
    var isPaused = false
    let sites = transaction.sites
    let names = try Self.names(transaction, interest, gatekeeper)
    let followed = names.compactMapValues(followedLog)
    try transaction.changes(after: place) { entry in
      if isTrial, state.isFull { return false }
      // Entries of one commit are taken together: the place is a commit's.
      guard state.budget > 0 || entry.sequence == state.place else {
        isPaused = true
        return false
      }
      let sequence = entry.sequence
      state.budget -= 1
      state.place = sequence
      if entry.kind == .evicted {
        if !SyncDefect.evictionsForgotten.isPlanted { state.takeEvicted(entry, names, gatekeeper) }
      } else if entry.origin != sender, !SyncDefect.ownLogNotTold.isPlanted {
        try entry.forEachMember(
          where: { collection, _ in
            guard names[collection] != nil else { return false }
            guard followed[collection]?.tellsAll(at: sequence) ?? false else { return true }
            state.hasAnnounced = true
            return false
          }, damaged: { state.damaged.insert($0) }
        ) { collection, _, id, summary, record in
          state.budget -= 1
          guard let known = names[collection], let matcher = interest.matcher(for: known),
            matcher.matches(id, record)
          else { return true }
          if followed[collection]?.tells(id, record, at: sequence) ?? false {
            state.hasAnnounced = true
            return true
          }
          guard state.room > 0 else {
            state.isFull = true
            state.unsaid.insert(known.name)
            return true
          }
          guard let cleared = gatekeeper.clear(known.name) else {
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
    if state.isDone { state.place = max(state.place, transaction.sequence) }
    self = state
  }

  private mutating func takeEvicted(
    _ entry: borrowing LogEntry, _ names: [UInt32: Collection], _ gatekeeper: Gatekeeper
  ) {
    if !entry.isEvictionComplete { isIncomplete = true }
    for key in entry.evicted {
      guard let collection = names[key.collection] else { continue }
      if room == 0 { isFull = true }
      if room > 0, gatekeeper.maySend(collection.name) {
        room -= 1
        evicted.append(DocumentName(collection: collection.name, id: key.id))
      } else {
        unsaid.insert(collection.name)
      }
    }
  }

  /// The collections that this peer pulls from the sender, by number.
  private static func names(
    _ transaction: borrowing ReadTransaction, _ interest: Interest, _ gatekeeper: Gatekeeper
  ) throws -> [UInt32: Collection] {
    var names: [UInt32: Collection] = [:]
    for name in interest.names where gatekeeper.mayAccept(name) {
      if let collection = try transaction.collection(name) { names[collection.id] = collection }
    }
    return names
  }
}
