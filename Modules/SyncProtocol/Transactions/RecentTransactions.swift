import CRDTCore
import DocStore

/// The transactions of which a receiver would have only a part if one of their documents were sent alone.
///
/// It also has the bindings: documents that the receiver skipped and requested as a whole stay bound until
/// it has applied the answer.
struct RecentTransactions {
  /// The first name of a binding; all sequences are below it.
  static let firstBinding: UInt64 = 1 << 63
  private var nextBinding = RecentTransactions.firstBinding
  /// The names of records that are bindings and not transactions.
  private var bindings: Set<UInt64> = []
  private var records: [UInt64: [DocumentRun]] = [:]
  private var sequences: [StoredPlace: [UInt64]] = [:]
  /// Bindings whose documents were sent with answers to other requests, and the names of those answers.
  private var answered: [UInt64: Set<UInt64>] = [:]
  private(set) var through: UInt64 = 0

  init(after sequence: UInt64) { through = sequence }

  var isEmpty: Bool { records.isEmpty }
  /// Whether any binding exists.
  var hasBindings: Bool { !bindings.isEmpty }
  /// All documents of these transactions and bindings, in any order.
  var places: some Swift.Collection<StoredPlace> { sequences.keys }

  func contains(_ place: StoredPlace) -> Bool { !sequences.isEmpty && sequences[place] != nil }

  /// Returns the runs of a record that the session sends.
  ///
  /// The result is empty for fewer than two documents, which bind nothing.
  static func relevant(_ members: [DocumentRun], _ concerns: (UInt32) -> Bool) -> [DocumentRun] {
    let relevant = members.filter { concerns($0.collection) }
    return relevant.count > 1 || relevant.contains { $0.count > 1 } ? relevant : []
  }

  /// Returns the runs of a record that the session sends, without what the peer may not read.
  static func relevant(
    _ members: [DocumentRun], _ concerns: (UInt32) -> Bool, _ snapshot: borrowing ReadTransaction,
    _ access: PeerAccess, visits: inout Int
  ) throws -> [DocumentRun] {
    let relevant = relevant(members, concerns)
    guard !relevant.isEmpty, access.reading != .everything else { return relevant }
    return self.relevant(try snapshot.readable(relevant, by: access, visits: &visits), concerns)
  }

  /// Reads the transactions that were committed up to the snapshot.
  ///
  /// - Returns: Whether there were commits.
  @discardableResult
  mutating func refresh(
    _ snapshot: borrowing ReadTransaction, concerns: (UInt32) -> Bool,
    access: PeerAccess, damaged: (DamagedLog) -> Void = { _ in }
  ) throws -> Bool {
    guard snapshot.sequence > through else { return false }
    var visits = 0
    try snapshot.transactionRuns(after: through, damaged: damaged) { sequence, members in
      let relevant = try Self.relevant(members, concerns, snapshot, access, visits: &visits)
      if !relevant.isEmpty { insert(sequence, relevant) }
      return true
    }
    through = snapshot.sequence
    return true
  }

  private mutating func insert(_ sequence: UInt64, _ members: [DocumentRun]) {
    records[sequence] = members
    for place in members.places { sequences[place, default: []].append(sequence) }
  }

  /// Binds documents that the receiver requested as a whole.
  ///
  /// - Returns: The name of the binding, which is used like the sequence of a transaction.
  mutating func bind(_ places: [StoredPlace]) -> UInt64 {
    let name = makeName()
    insertBinding(name, places.map { DocumentRun(collection: $0.collection, numbers: $0.number...$0.number) })
    return name
  }

  private mutating func insertBinding(_ name: UInt64, _ members: [DocumentRun]) {
    bindings.insert(name)
    insert(name, members)
  }

  /// Returns a name for an answer, whether it binds anything or not.
  mutating func makeName() -> UInt64 {
    defer { nextBinding += 1 }
    return nextBinding
  }

  /// Keeps a binding for as long as answers to other requests are in flight.
  mutating func bind(_ name: UInt64, with answers: Set<UInt64>) { answered[name] = answers }

  /// Forgets the bindings that are not among `open`.
  mutating func removeBindings(except open: Set<UInt64>) {
    for name in bindings where !open.contains(name) {
      guard answered[name]?.isDisjoint(with: open) ?? true else { continue }
      answered[name] = nil
      bindings.remove(name)
      remove(name)
    }
  }

  /// Returns the bindings without transactions, to continue with those committed after a sequence.
  func begun(after sequence: UInt64) -> RecentTransactions {
    var begun = RecentTransactions(after: sequence)
    begun.nextBinding = nextBinding
    begun.answered = answered
    for name in bindings { begun.insertBinding(name, records[name] ?? []) }
    return begun
  }

  /// Forgets a transaction that the receiver has, or gets before anything that is sent from now on.
  mutating func remove(_ sequence: UInt64) {
    guard let members = records.removeValue(forKey: sequence) else { return }
    for place in members.places {
      sequences[place]?.removeAll { $0 == sequence }
      if sequences[place]?.isEmpty == true { sequences[place] = nil }
    }
  }

  /// Forgets all transactions after `first` and before `sequence`.
  mutating func remove(after first: UInt64, before sequence: UInt64) {
    for known in records.keys where known > first && known < sequence { remove(known) }
  }

  /// Calls `body` with a document and with each document that shares a transaction with it.
  ///
  /// Transactions among `seen` are skipped: all of their documents were visited together.
  func forEachNeighbour(
    of place: StoredPlace, seen: inout Set<UInt64>, _ body: (StoredPlace) -> Void
  ) {
    for sequence in sequences[place] ?? [] where seen.insert(sequence).inserted {
      for place in records[sequence]?.places ?? [] { body(place) }
    }
  }
}

extension [DocumentRun] {
  /// Each document's place.
  fileprivate var places: [StoredPlace] {
    flatMap { run in
      (run.numbers.lowerBound.rawValue...run.numbers.upperBound.rawValue).lazy.map { number in
        StoredPlace(collection: run.collection, number: DocumentNumber(number))
      }
    }
  }
}

extension DocumentKey {
  /// A hash that is the same in every process.
  var hash64: UInt64 { HashLanes(id.bytes.span.bytes, seed: UInt64(collection)).first }
}
