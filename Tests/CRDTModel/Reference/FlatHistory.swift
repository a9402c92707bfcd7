import TestKit

/// A random history of four replicas of the flat reference model, against its log.
package struct FlatHistory: SeededHistory {
  private let seed: UInt64
  private let controls: ReferenceControls
  private var generator: SeededGenerator
  private var replicas: [FlatModel]
  private var now: UInt64 = 10
  private let lifetime: UInt64
  private var operations: [FlatModel.Operation] = []
  /// The vector of each remover at each removal, by its operation's number.
  private var seen: [Int: [ModelWriter: UInt64]] = [:]
  package let stepCount: Int
  package var trace: Trace?

  package init(seed: UInt64, controls: ReferenceControls = []) {
    self.seed = seed
    self.controls = controls
    generator = SeededGenerator(seed: seed)
    lifetime = generator.pick([0, 5, 40])
    stepCount = 10 + generator.int(below: 51)
    replicas = (0..<4).map { FlatModel(site: $0, controls: controls) }
  }

  package mutating func run(step: Int) throws {
    generator = SeededGenerator(seed: seed, step: step)
    now += UInt64(generator.int(below: 4))
    let index = generator.int(below: 4)
    let skewed = UInt64(max(Int(now) + generator.pick([0, 0, 0, -8, 6]), 0))
    let sets = sets(step)
    switch generator.int(below: 100) {
    case ..<22: replicas[index].upsert(skewed, sets.map { ($0.path, $0.value) }, &operations)
    case ..<40: replicas[index].update(skewed, sets.map { ($0.path, $0.value) }, &operations)
    case ..<50: remove(index, skewed, sets.map(\.path))
    case ..<55: replicas[index].delete(skewed, &operations)
    case ..<60:
      let defaults = sets.map { ($0.path, -1 - generator.int(below: 2)) }
      replicas[index].insertDefault(defaults, &operations)
    case ..<65: replicas[index].evict()
    case ..<72: collect(index)
    default:
      let from = (index + 1 + generator.int(below: 3)) % 4
      trace?.add("\(index) pulls from \(from)")
      return pull(index, from)
    }
    trace?.add("\(index) at \(skewed): \(replicas[index].visible.map { "\($0)" } ?? "no document")")
  }

  private mutating func sets(_ step: Int) -> [(path: Int, value: Int)] {
    let first = generator.int(below: FlatModel.paths)
    let second = generator.int(below: FlatModel.paths)
    return (first == second ? [first] : [first, second]).map { ($0, step * 10 + $0) }
  }

  private mutating func remove(_ index: Int, _ now: UInt64, _ paths: [Int]) {
    guard replicas[index].isAlive else { return }
    let (before, known) = (replicas[index].vector, operations.count)
    replicas[index].update(now, paths.map { ($0, nil) }, &operations)
    for number in known..<operations.count { seen[number] = before }
  }

  private mutating func collect(_ index: Int) {
    guard let life = replicas[index].life else { return }
    let isCollecting = controls.contains(life.isAlive ? .collectFields : .collectDeleted)
    if isCollecting { replicas[index].collect(before: now - min(lifetime, now)) }
  }

  private mutating func pull(_ to: Int, _ from: Int) {
    var (b, a) = (replicas[to], replicas[from])
    FlatModel.pull(&b, &a)
    (replicas[to], replicas[from]) = (b, a)
  }

  package mutating func finish() throws {
    for _ in 0..<6 { for a in 0..<4 { for b in 0..<4 where a != b { pull(a, b) } } }
    let views = replicas.map(\.visible)
    guard views.allSatisfy({ $0 == views[0] }) else { throw LawFailure("replicas diverged") }
    let log = replicas.reduce(into: OperationSet()) { $0.formUnion($1.log) }
    let expected = FlatModel.fold(log, of: operations)
    guard views[0] != expected else { return }
    // Removed fields go with their tombstone: an upsert unaware of the deletion may revive an older copy.
    if !controls.contains(.collectDeleted), resurrects(log, expected) {
      throw LawFailure("what its remover had seen came back")
    }
    // A late write that the remover had not seen may come back where its memory was given up.
    if controls.isDisjoint(with: [.collectFields, .collectDeleted]) {
      throw LawFailure("replicas differ from the log")
    }
  }

  private func resurrects(_ log: OperationSet, _ expected: [Int?]?) -> Bool {
    guard replicas[0].isAlive else { return false }
    return (0..<FlatModel.paths).contains { path in
      guard let entry = replicas[0].entries[path], let value = entry.value, expected?[path] != value else {
        return false
      }
      var winner: (stamp: ModelStamp, number: Int, isRemoval: Bool)?
      for number in operations.indices where log.contains(number) {
        guard case .entry(path, let stamp, let value) = operations[number] else { continue }
        if winner.map({ stamp > $0.stamp }) ?? true { winner = (stamp, number, value == nil) }
      }
      guard let winner, winner.isRemoval, let vector = seen[winner.number] else { return false }
      return entry.stamp.reading > 0 && vector[entry.writer].map { $0 >= entry.stamp.reading } ?? false
    }
  }
}
