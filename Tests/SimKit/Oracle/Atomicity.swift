/// Whether each transaction is visible on all the documents that a peer is entitled to, or on none.
struct Atomicity {
  private let rules: Rules
  /// Whether transactions can be looked at here: what peers are entitled to does not change.
  let isChecked: Bool
  private var shown: [[DocumentName: Set<Int>]]
  /// Marks that have come into sight since the last look.
  private var fresh: [Set<Int>]

  init(_ script: Script) {
    rules = script.rules
    // A writer that is put back gets of its own transactions what others have, and they may have parts.
    let wantsAll = script.peers.allSatisfy { peer in
      let whole = Set(peer.subscriptions.filter { $0.form == .all }.map(\.collection))
      return peer.subscriptions.allSatisfy { $0.form == .all } && whole.count == script.rules.collections
    }
    isChecked =
      rules.hasFixedInterests && rules.keepsDeletions && rules.hasFixedScopes
      && (rules.hasNoCopies || wantsAll)
    shown = script.peers.map { _ in [:] }
    fresh = script.peers.map { _ in [] }
  }

  mutating func reset(_ peer: Int, _ shadow: Shadow) {
    shown[peer] = shadow.documents.compactMapValues { $0.marks.isEmpty ? nil : $0.marks }
    fresh[peer] = []
  }

  mutating func note(_ known: Shadow.Known, of name: DocumentName, at peer: Int) {
    let new = known.marks.subtracting(shown[peer][name] ?? [])
    guard !new.isEmpty else { return }
    shown[peer][name, default: []].formUnion(new)
    fresh[peer].formUnion(new)
  }

  mutating func forget(_ name: DocumentName, at peer: Int) { shown[peer][name] = nil }

  /// Looks at the transactions that have come into sight.
  mutating func checkNew(_ peer: SimPeer, _ ledger: Ledger) throws {
    let marks = fresh[peer.number]
    fresh[peer.number] = []
    guard !marks.isEmpty, isChecked else { return }
    for transaction in ledger.transactions {
      if let mark = transaction.mark, marks.contains(mark) { try check(transaction, mark, peer, ledger) }
    }
  }

  /// Looks at all transactions.
  func checkAll(_ peer: SimPeer, _ ledger: Ledger) throws {
    guard isChecked else { return }
    for transaction in ledger.transactions {
      if let mark = transaction.mark { try check(transaction, mark, peer, ledger) }
    }
  }

  /// At rest, too, all is whole, and what was acknowledged is there.
  func judge(_ world: World) throws {
    for peer in world.peers {
      try checkAll(peer, world.ledger)
      try checkAcknowledged(at: peer, in: world)
    }
  }

  /// Each acknowledged transaction shows where it was made, and wherever all that is written gets to.
  ///
  /// A store that was put back is made up for by others alone, of what they got.
  private func checkAcknowledged(at peer: SimPeer, in world: World) throws {
    guard peer.store != nil, rules.hasNoCopies else { return }
    let hasAll = rules.hasNoScopes && peer.wantsEverything(of: world) && peer.isReached(in: world)
    for transaction in world.ledger.transactions where transaction.outcome == .acknowledged {
      guard let mark = transaction.mark, hasAll || transaction.peer == peer.number else { continue }
      for name in transaction.members.sorted()
      where !world.ledger.evicted.contains(name) && rules.rotten?.contains(name.collection) != true {
        guard shown[peer.number][name]?.contains(mark) != true else { continue }
        throw Violation(
          .durability,
          "\(peer.name) does not show transaction \(mark) of p\(transaction.peer) on \(name), which was acknowledged"
        )
      }
    }
  }

  private func check(
    _ transaction: LedgerTransaction, _ mark: Int, _ peer: SimPeer, _ ledger: Ledger
  ) throws {
    let concerned = transaction.members.filter { name in
      guard !ledger.evicted.contains(name), rules.rotten?.contains(name.collection) != true else {
        return false
      }
      return transaction.peer == peer.number || peer.subscriptions.contains { $0.selects(name) == true }
    }
    // What scopes keep back on one way may come on another, collection by collection.
    let parts =
      rules.hasNoScopes
      ? [Array(concerned)] : Dictionary(grouping: concerned, by: \.collection).values.map { Array($0) }
    for part in parts {
      let seen = part.filter { shown[peer.number][$0]?.contains(mark) == true }
      guard seen.isEmpty || seen.count == part.count else {
        let missing = Set(part).subtracting(seen).sorted()
        throw Violation(
          .atomicity,
          "\(peer.name) shows transaction \(mark) of p\(transaction.peer) on \(seen.sorted()), not on \(missing)"
        )
      }
    }
  }
}
