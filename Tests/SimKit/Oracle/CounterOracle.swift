import CRDTCore
import DocStore
import QueryEngine

/// Counters are the sum of all that was acknowledged, and of a part of what nobody heard the end of.
struct CounterOracle {
  let world: World

  init(_ world: World) { self.world = world }

  func check() throws {
    guard world.script.rules.keepsDeletions, world.script.rules.hasNoScopes else { return }
    var certain: [DocumentName: Int64] = [:]
    var doubtful: [DocumentName: [Int64]] = [:]
    for transaction in world.ledger.transactions where transaction.outcome != .refused {
      for (name, amount) in transaction.increments
      where !name.isErasable && !world.ledger.evicted.contains(name)
        && world.script.rules.rotten?.contains(name.collection) != true
      {
        if transaction.outcome == .acknowledged {
          certain[name, default: 0] += amount
        } else {
          doubtful[name, default: []].append(amount)
        }
      }
    }
    for peer in world.peers where peer.wantsEverything(of: world) && peer.isReached(in: world) {
      guard let store = peer.store else { continue }
      for name in Set(certain.keys).union(doubtful.keys).sorted() {
        let sum = try store.counter(name)
        let least = certain[name] ?? 0
        guard Self.isSum(sum - least, of: doubtful[name] ?? []) else {
          throw Violation(
            .counters,
            "\(peer.name) counts \(sum) in \(name); acknowledged is \(least), in doubt \(doubtful[name] ?? [])"
          )
        }
      }
    }
  }

  /// Whether some of the amounts sum up to `rest`.
  private static func isSum(_ rest: Int64, of amounts: [Int64]) -> Bool {
    var sums: Set<Int64> = [0]
    for amount in amounts.prefix(12) { sums.formUnion(sums.map { $0 + amount }) }
    return sums.contains(rest) || amounts.count > 12
  }
}

extension Store {
  /// The sum of a document's counter; zero where there is none.
  fileprivate func counter(_ name: DocumentName) throws -> Int64 {
    try read { transaction in
      guard let collection = try transaction.collection(name.collectionName) else { return 0 }
      let value = try transaction.withRecord(collection, try DocumentID(name.value)) { record, _ -> Value? in
        record.isAlive ? try record.fields(collection.keys)["count"] : nil
      }
      guard case .counter(let sum)?? = value else { return 0 }
      return sum
    }
  }

  /// The living documents that match a query.
  func documents(matching plan: SubscriptionPlan) throws -> [DocumentName] {
    let query = try plan.query()
    return try read { transaction in
      guard let collection = try transaction.collection(query.collection) else { return [] }
      var matcher = query.matcher
      matcher.resolve(collection.keys)
      var found: [DocumentName] = []
      try transaction.forEachIntactRecord(in: collection, damaged: { _ in }) { _, id, _, record in
        if record.isAlive, matcher.matches(id, record), let name = DocumentName(id, plan.collection) {
          found.append(name)
        }
        return true
      }
      return found.sorted()
    }
  }
}
