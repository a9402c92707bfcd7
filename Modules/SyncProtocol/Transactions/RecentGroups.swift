import CRDTCore
import DocStore

/// The transactions that a receiver may have in part only, should one of their documents be sent alone.
///
/// Beside them, what a receiver has left out and asked for as a whole: that is bound until the answer is applied.
struct RecentGroups {
  /// Where the names of what was asked for begin, above all sequences.
  static let firstBinding: UInt64 = 1 << 63
  private var nextBinding = RecentGroups.firstBinding
  /// The names of records that are no transactions.
  private var bindings: Set<UInt64> = []
  private var records: [UInt64: [DocumentRun]] = [:]
  private var sequences: [StoredPlace: [UInt64]] = [:]
  /// What was answered with answers to something else, with the names of those.
  private var answered: [UInt64: Set<UInt64>] = [:]
  private(set) var through: UInt64 = 0

  init(after sequence: UInt64) { through = sequence }

  var isEmpty: Bool { records.isEmpty }
  /// Whether anything is bound that is no transaction.
  var hasBindings: Bool { !bindings.isEmpty }
  /// All documents of these transactions, in any order.
  var places: some Swift.Collection<StoredPlace> { sequences.keys }

  func contains(_ place: StoredPlace) -> Bool { !sequences.isEmpty && sequences[place] != nil }

  /// The runs of a record that a session has to do with; fewer than two documents are no group.
  static func relevant(_ members: [DocumentRun], _ concerns: (UInt32) -> Bool) -> [DocumentRun] {
    let relevant = members.filter { concerns($0.collection) }
    return relevant.count > 1 || relevant.contains { $0.count > 1 } ? relevant : []
  }

  /// Takes in what was committed up to the snapshot.
  ///
  /// - Returns: Whether there was anything.
  @discardableResult
  mutating func refresh(
    _ transaction: borrowing ReadTransaction, concerns: (UInt32) -> Bool,
    damaged: (DamagedLog) -> Void = { _ in }
  ) throws -> Bool {
    guard transaction.sequence > through else { return false }
    try transaction.groupRuns(after: through, damaged: damaged) { sequence, members in
      let relevant = Self.relevant(members, concerns)
      if !relevant.isEmpty { insert(sequence, relevant) }
      return true
    }
    through = transaction.sequence
    return true
  }

  private mutating func insert(_ sequence: UInt64, _ members: [DocumentRun]) {
    records[sequence] = members
    for place in members.places { sequences[place, default: []].append(sequence) }
  }

  /// Binds documents that the receiver asked for as a whole.
  ///
  /// - Returns: What the binding is called, as a transaction is by its sequence.
  mutating func bind(_ places: [StoredPlace]) -> UInt64 {
    let name = makeName()
    insertBinding(name, places.map { DocumentRun(collection: $0.collection, numbers: $0.number...$0.number) })
    return name
  }

  private mutating func insertBinding(_ name: UInt64, _ members: [DocumentRun]) {
    bindings.insert(name)
    insert(name, members)
  }

  /// A name for an answer, whether it binds anything or not.
  mutating func makeName() -> UInt64 {
    defer { nextBinding += 1 }
    return nextBinding
  }

  /// Keeps a binding for as long as answers to something else are under way.
  mutating func bind(_ name: UInt64, with answers: Set<UInt64>) { answered[name] = answers }

  /// Forgets what was asked for and is not among `open`.
  mutating func removeBindings(except open: Set<UInt64>) {
    for name in bindings where !open.contains(name) {
      guard answered[name]?.isDisjoint(with: open) ?? true else { continue }
      answered[name] = nil
      bindings.remove(name)
      remove(name)
    }
  }

  /// Only what was asked for, and what is committed after a sequence.
  func begun(after sequence: UInt64) -> RecentGroups {
    var begun = RecentGroups(after: sequence)
    begun.nextBinding = nextBinding
    begun.answered = answered
    for name in bindings { begun.insertBinding(name, records[name] ?? []) }
    return begun
  }

  /// Forgets a transaction that the receiver has whole, or gets whole before anything sent from now on.
  mutating func remove(_ sequence: UInt64) {
    guard let members = records.removeValue(forKey: sequence) else { return }
    for place in members.places {
      sequences[place]?.removeAll { $0 == sequence }
      if sequences[place]?.isEmpty == true { sequences[place] = nil }
    }
  }

  /// Forgets all transactions before one that come after `first`.
  mutating func remove(after first: UInt64, before sequence: UInt64) {
    for known in records.keys where known > first && known < sequence { remove(known) }
  }

  /// Calls `body` with each document that shares a transaction with one, and that itself.
  ///
  /// A transaction that is among `seen` is passed over: its documents were told, all at once.
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
