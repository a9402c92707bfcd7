import CRDTCore
import DocStore

/// Which documents of earlier transactions belong together: the connected components of the store's
/// group records, as a union-find over hashes of document keys.
///
/// It takes about forty bytes a document that was written together with others. Two keys of one hash merge their
/// components, which is harmless.
struct GroupIndex {
  private var nodes: [UInt64: UInt32] = [:]
  private var parents: [UInt32] = []
  /// A member of each record, in the records' order.
  private var representatives: [UInt32] = []
  private var recordCounts: [UInt32: Int] = [:]
  private var cursor: UInt64 = 0
  /// The last commit that it takes in: the one before the first question of a reconciliation.
  ///
  /// What the receiver was not found to lack, it has as of then; later commits are in ``RecentGroups``.
  let through: UInt64
  private(set) var isReady = false

  init(through: UInt64) { self.through = through }

  /// Reads records until the last one or the budget's end.
  mutating func step(
    _ transaction: borrowing ReadTransaction, concerns: (UInt32) -> Bool, budget: inout Int
  ) throws {
    let end = through
    var state = self
    var left = budget
    var paused = false
    try transaction.groups(after: cursor) { sequence, members in
      guard sequence <= end else { return false }
      guard left > 0 else {
        paused = true
        return false
      }
      left -= members.count
      state.cursor = sequence
      state.join(Self.relevant(members, concerns))
      return true
    }
    self = state
    budget = left
    guard !paused else { return }
    isReady = true
    for node in representatives { recordCounts[root(node), default: 0] += 1 }
  }

  /// The members of a record that a session has to do with; fewer than two are no group.
  static func relevant(_ members: [DocumentKey], _ concerns: (UInt32) -> Bool) -> [DocumentKey] {
    members.filter { concerns($0.collection) }
  }

  private mutating func join(_ members: [DocumentKey]) {
    guard members.count >= 2 else { return }
    let first = root(node(members[0]))
    for member in members.dropFirst() {
      let other = root(node(member))
      if other != first { parents[Int(other)] = first }
    }
    representatives.append(first)
  }

  private mutating func node(_ key: DocumentKey) -> UInt32 {
    let hash = key.hash64
    if let node = nodes[hash] { return node }
    let node = UInt32(truncatingIfNeeded: parents.count)
    parents.append(node)
    nodes[hash] = node
    return node
  }

  private mutating func root(_ node: UInt32) -> UInt32 {
    var node = node
    while parents[Int(node)] != node {
      parents[Int(node)] = parents[Int(parents[Int(node)])]
      node = parents[Int(node)]
    }
    return node
  }

  func contains(_ key: DocumentKey) -> Bool { !nodes.isEmpty && nodes[key.hash64] != nil }

  var isEmpty: Bool { nodes.isEmpty }

  /// The component of a document, as a number.
  mutating func component(of key: DocumentKey) -> UInt32? { nodes[key.hash64].map { root($0) } }

  /// The components of which not all records were read again.
  func components(except complete: Set<UInt32>) -> Set<UInt32> {
    Set(recordCounts.keys).subtracting(complete)
  }

  /// How many records a component has.
  func recordCount(of component: UInt32) -> Int { recordCounts[component] ?? 0 }
}

extension DocumentKey {
  /// A hash that is the same in every process.
  var hash64: UInt64 { HashLanes(id.bytes.span.bytes, seed: UInt64(collection)).first }
}

/// The transactions that a receiver may have in part only, should one of their documents be sent alone.
struct RecentGroups {
  private var records: [UInt64: [DocumentKey]] = [:]
  private var sequences: [DocumentKey: [UInt64]] = [:]
  private(set) var through: UInt64 = 0

  init(after sequence: UInt64) { through = sequence }

  var isEmpty: Bool { records.isEmpty }

  func contains(_ key: DocumentKey) -> Bool { !sequences.isEmpty && sequences[key] != nil }

  /// Takes in what was committed up to the snapshot.
  mutating func refresh(_ transaction: borrowing ReadTransaction, concerns: (UInt32) -> Bool) throws {
    guard transaction.sequence > through else { return }
    var state = self
    try transaction.groups(after: through) { sequence, members in
      let relevant = GroupIndex.relevant(members, concerns)
      if relevant.count >= 2 { state.insert(sequence, relevant) }
      return true
    }
    state.through = transaction.sequence
    self = state
  }

  private mutating func insert(_ sequence: UInt64, _ members: [DocumentKey]) {
    records[sequence] = members
    for member in members { sequences[member, default: []].append(sequence) }
  }

  /// Forgets a transaction that the receiver has whole, or gets whole before anything sent from now on.
  mutating func remove(_ sequence: UInt64) {
    guard let members = records.removeValue(forKey: sequence) else { return }
    for member in members {
      sequences[member]?.removeAll { $0 == sequence }
      if sequences[member]?.isEmpty == true { sequences[member] = nil }
    }
  }

  /// Forgets all transactions before one.
  mutating func remove(before sequence: UInt64) {
    for known in records.keys where known < sequence { remove(known) }
  }

  /// All documents that are bound to the given ones, and those themselves.
  func closure(of keys: some Sequence<DocumentKey>) -> Set<DocumentKey> {
    var found = Set(keys)
    var open = Array(found)
    while let key = open.popLast() {
      for sequence in sequences[key] ?? [] {
        for member in records[sequence] ?? [] where found.insert(member).inserted { open.append(member) }
      }
    }
    return found
  }
}
