import CRDTCore
import TestKit

/// Devices that make a counter, count, start the count anew, evict, are cloned and are restored from backups.
///
/// In the end every device must show the sum of all increments of the last epoch that any of them knows of.
package struct CounterHistory: SeededHistory {
  private enum Operation {
    case start(base: Int64, stamp: Stamp)
    case increment(epoch: Int?, amount: Int64)
  }

  private struct Device {
    var peer: Peer
    var known: Set<Int> = []
  }

  private let seed: UInt64
  /// Amounts near the limits, where only agreement is claimed.
  private let isSaturating: Bool
  /// The control: a counter that is made is set, and so begins an epoch.
  private let startsEpochs: Bool
  private var generator: SeededGenerator
  private var devices: [Device]
  private var backups: [Int: Device] = [:]
  private var operations: [Operation] = []
  private var nextSite = 10
  private var now: UInt64 = 1_000
  package let stepCount: Int
  package var trace: Trace?

  package init(seed: UInt64, startsEpochs: Bool = false) {
    self.seed = seed
    self.startsEpochs = startsEpochs
    generator = SeededGenerator(seed: seed)
    isSaturating = generator.oneIn(8)
    stepCount = 8 + generator.int(below: 40)
    devices = (1...4).map { Device(peer: Peer($0)) }
  }

  package mutating func run(step: Int) throws {
    generator = SeededGenerator(seed: seed, step: step)
    now += UInt64(generator.int(below: 4))
    let index = generator.int(below: devices.count)
    switch generator.int(below: 100) {
    case ..<12: try make(index)
    case ..<40: try increment(index)
    case ..<45: try start(index)
    case ..<53:
      trace?.add("\(index) evicts")
      devices[index].peer.evict()
      devices[index].known = []
    case ..<58:
      backups[index] = devices[index]
    case ..<63:
      guard var backup = backups[index] else { return }
      trace?.add("\(index) is restored, as site \(nextSite)")
      backup.peer = backup.peer.changingSite(to: takeSite())
      devices[index] = backup
    case ..<67:
      let other = (index + 1) % devices.count
      trace?.add("\(other) becomes a clone of \(index), as site \(nextSite)")
      var clone = devices[index]
      clone.peer = clone.peer.changingSite(to: takeSite())
      devices[other] = clone
    default:
      let from = (index + 1 + generator.int(below: devices.count - 1)) % devices.count
      trace?.add("\(index) pulls from \(from)")
      try pull(index, from)
    }
  }

  private mutating func takeSite() -> Int {
    nextSite += 1
    return nextSite - 1
  }

  private mutating func pull(_ to: Int, _ from: Int) throws {
    try devices[to].peer.pull(devices[from].peer)
    devices[to].known.formUnion(devices[from].known)
  }

  /// The epoch that a device counts in: its last start, or none.
  private func epoch(_ known: Set<Int>) -> Int? {
    var last: (index: Int, stamp: Stamp)?
    for index in known {
      guard case .start(_, let stamp) = operations[index] else { continue }
      if last.map({ $0.stamp < stamp }) ?? true { last = (index, stamp) }
    }
    return last?.index
  }

  private mutating func note(_ operation: Operation, _ index: Int) {
    devices[index].known.insert(operations.count)
    operations.append(operation)
  }

  private mutating func increment(_ index: Int) throws {
    if !devices[index].peer.isAlive { try devices[index].peer.upsert([:], now: now) }
    let choices: [Int64] = isSaturating ? [.max, .min, .max / 2, 1, -1] : [1, 2, 3, -1, 100]
    let amount = generator.pick(choices)
    trace?.add("\(index) adds \(amount) at \(now)")
    try devices[index].peer.update([.increment(["n"], amount)], now: now)
    note(.increment(epoch: epoch(devices[index].known), amount: amount), index)
  }

  /// Upserts a counter: where none stands its start value counts, and a counter that stands stays as it is.
  private mutating func make(_ index: Int) throws {
    let start = Int64(generator.int(below: 3))
    trace?.add("\(index) makes a counter at \(start), at \(now)")
    let standing = try devices[index].peer.fields?["n"]
    if startsEpochs, devices[index].peer.isAlive {
      try devices[index].peer.update([.set(["n"], .counter(start))], now: now)
    } else {
      try devices[index].peer.upsert(["n": .counter(start)], now: now)
    }
    if case .counter? = standing { return }
    note(.increment(epoch: epoch(devices[index].known), amount: start), index)
  }

  private mutating func start(_ index: Int) throws {
    if !devices[index].peer.isAlive { try devices[index].peer.upsert([:], now: now) }
    let base = Int64(generator.int(below: 1_000))
    trace?.add("\(index) starts at \(base), at \(now)")
    let edit: Edit = generator.oneIn(2) ? .restart(["n"], base) : .replace(["n"], .int(base))
    try devices[index].peer.update([edit], now: now)
    let stamp = Stamp(reading: try devices[index].peer.vector.latest, site: devices[index].peer.site)
    note(.start(base: base, stamp: stamp), index)
  }

  package mutating func finish() throws {
    for _ in 0..<2 {
      for to in devices.indices { for from in devices.indices where from != to { try pull(to, from) } }
    }
    let values = try devices.map { try $0.peer.fields?["n"] }
    guard values.allSatisfy({ $0 == values[0] }) else { throw LawFailure("the counts differ: \(values)") }
    guard !isSaturating else { return }
    let known = devices.reduce(into: Set<Int>()) { $0.formUnion($1.known) }
    let last = epoch(known)
    var sum: Int64?
    if let last, case .start(let base, _) = operations[last] { sum = base }
    for index in known {
      guard case .increment(last, let amount) = operations[index] else { continue }
      sum = (sum ?? 0) + amount
    }
    let number: Int64? =
      switch values[0] {
      case .int(let value)?, .counter(let value)?: value
      default: nil
      }
    guard number == sum else {
      throw LawFailure(
        "the count is \(number.map { "\($0)" } ?? "nothing"), not \(sum.map { "\($0)" } ?? "nothing")")
    }
  }
}
