import DocStore

/// A closure: documents that become visible together.
///
/// It has closures of old transactions and documents of recent ones.
struct BoundDocuments {
  var closures: Set<Int> = []
  var places: Set<StoredPlace> = []
}

/// Which documents transactions bind together, as far as a receiver may have a part of them.
///
/// During a reconciliation all transactions count that the log still has: those before its first question as
/// closures (``TransactionClosures``), later ones individually (``RecentTransactions``). Otherwise only
/// recent ones count. Documents that were sent bind nothing more: the receiver has them, or gets them before
/// whatever is sent next.
struct TransactionGraph {
  private var old = TransactionClosures(through: 0)
  private var recent = RecentTransactions(after: .max)
  private var sentClosures: [Bool] = []
  /// Documents of recent transactions that were sent in this reconciliation.
  private var sentPlaces: Set<StoredPlace> = []
  /// The documents of recent transactions that are also in closures.
  private var recentMembers: [Int: [StoredPlace]]?

  // MARK: - Reconciliation

  /// Begins a reconciliation as of a commit.
  ///
  /// Transactions after it are recent, and so are those after `bound`, of which a part may be in flight.
  mutating func begin(at sequence: UInt64, boundAfter bound: UInt64, limit: Int) {
    end()
    old = TransactionClosures(through: sequence, limit: limit)
    recent = recent.begun(after: min(sequence, bound))
  }

  /// Forgets the closures when a reconciliation is over.
  mutating func end() {
    old = TransactionClosures(through: 0)
    (sentClosures, sentPlaces, recentMembers) = ([], [], nil)
  }

  /// Begins at a receiver's log position: the receiver has everything that was committed before.
  mutating func begin(after sequence: UInt64) { recent = recent.begun(after: sequence) }

  /// Whether all old transactions are read.
  var isReady: Bool { old.isReady }
  var closureCount: Int { old.closureCount }
  /// The last commit whose record was forgotten because there were too many.
  var forgottenThrough: UInt64? { old.forgottenThrough }

  /// Reads old transactions until the budget is spent.
  mutating func read(
    _ snapshot: borrowing ReadTransaction, concerns: (UInt32) -> Bool, access: PeerAccess,
    damaged: (DamagedLog) -> Void, budget: inout Int
  ) throws {
    try old.step(snapshot, concerns: concerns, access: access, damaged: damaged, budget: &budget)
    if old.isReady { sentClosures = Array(repeating: false, count: old.closureCount) }
  }

  /// Returns the runs of a closure, by collection and number.
  func runs(of closure: Int) -> some Sequence<DocumentRun> { old.runs(of: closure) }

  /// Returns the first numbers from a place on that are in no closure; `nil` if there are none.
  ///
  /// It considers numbers up to `last`.
  func gap(from place: StoredPlace, through last: DocumentNumber) -> ClosedRange<DocumentNumber>? {
    old.gap(from: place, through: last)
  }

  func isInClosure(_ place: StoredPlace) -> Bool { old.closure(of: place) != nil }

  func isSent(_ closure: Int) -> Bool { sentClosures[closure] }

  /// Whether the closure of a document is not sent yet; `true` for a document of no closure.
  func isOpen(_ place: StoredPlace) -> Bool {
    old.closure(of: place).map { sentClosures[$0] } ?? true
  }

  /// Whether a document of a recent transaction was sent.
  func isSent(_ place: StoredPlace) -> Bool { sentPlaces.contains(place) }

  mutating func noteSent(closure: Int) { sentClosures[closure] = true }

  /// Records documents that are sent, if a recent transaction has them.
  mutating func noteSent(_ places: Set<StoredPlace>) {
    for place in places where recent.contains(place) { sentPlaces.insert(place) }
  }

  /// Records documents that are sent bound to each other.
  mutating func noteBound(_ places: [StoredPlace]) { sentPlaces.formUnion(places) }

  // MARK: - Recent transactions

  /// Reads the transactions that were committed up to the snapshot.
  mutating func refresh(
    _ snapshot: borrowing ReadTransaction, concerns: (UInt32) -> Bool, access: PeerAccess,
    damaged: (DamagedLog) -> Void
  ) throws {
    if try recent.refresh(snapshot, concerns: concerns, access: access, damaged: damaged) {
      recentMembers = nil
    }
  }

  func isRecent(_ place: StoredPlace) -> Bool { recent.contains(place) }
  /// Whether any transaction binds a document.
  func isBound(_ place: StoredPlace) -> Bool { recent.contains(place) || isInClosure(place) }
  /// Whether any binding exists.
  var hasBindings: Bool { recent.hasBindings }

  /// Binds documents that the receiver requested as a whole, or that are sent together.
  ///
  /// - Returns: The name of the binding, which is used like the sequence of a transaction.
  mutating func bind(_ places: [StoredPlace]) -> UInt64 { recent.bind(places) }
  /// Keeps a binding for as long as answers to other requests are in flight.
  mutating func bind(_ name: UInt64, with answers: Set<UInt64>) { recent.bind(name, with: answers) }
  /// Returns a name for an answer, whether it binds anything or not.
  mutating func makeName() -> UInt64 { recent.makeName() }
  /// Forgets bindings that are not among `open`.
  mutating func removeBindings(except open: Set<UInt64>) { recent.removeBindings(except: open) }
  /// Forgets a transaction that the receiver has, or gets before anything that is sent from now on.
  mutating func remove(_ sequence: UInt64) { recent.remove(sequence) }
  /// Forgets all transactions after `first` and before `sequence`.
  mutating func remove(after first: UInt64, before sequence: UInt64) {
    recent.remove(after: first, before: sequence)
  }

  // MARK: - Closure

  /// Returns a closure with all that recent transactions bind to it.
  mutating func boundDocuments(of closure: Int) -> BoundDocuments {
    guard !recent.isEmpty else { return BoundDocuments(closures: [closure]) }
    var boundDocuments = boundDocuments(around: members(of: closure))
    boundDocuments.closures.insert(closure)
    return boundDocuments
  }

  /// Returns documents with all that old and recent transactions bind to them.
  mutating func boundDocuments(around places: [StoredPlace]) -> BoundDocuments {
    var boundDocuments = BoundDocuments(places: Set(places))
    var open = places
    var seen: Set<UInt64> = []
    while let place = open.popLast() {
      recent.forEachNeighbour(of: place, seen: &seen) {
        if boundDocuments.places.insert($0).inserted { open.append($0) }
      }
      guard let closure = old.closure(of: place), !sentClosures[closure],
        boundDocuments.closures.insert(closure).inserted, !recent.isEmpty
      else { continue }
      for member in members(of: closure) where boundDocuments.places.insert(member).inserted {
        open.append(member)
      }
    }
    return boundDocuments
  }

  /// Returns documents with all that recent transactions bind to them.
  func recentClosure(of places: [StoredPlace]) -> Set<StoredPlace> {
    var found = Set(places)
    var open = places
    var seen: Set<UInt64> = []
    while let place = open.popLast() {
      recent.forEachNeighbour(of: place, seen: &seen) { if found.insert($0).inserted { open.append($0) } }
    }
    return found
  }

  /// Returns the documents of recent transactions that are also in a closure.
  private mutating func members(of closure: Int) -> [StoredPlace] {
    if let recentMembers { return recentMembers[closure] ?? [] }
    var members: [Int: [StoredPlace]] = [:]
    for place in recent.places {
      if let closure = old.closure(of: place) { members[closure, default: []].append(place) }
    }
    recentMembers = members
    return members[closure] ?? []
  }
}
