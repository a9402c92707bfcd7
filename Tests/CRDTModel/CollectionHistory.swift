import CRDTCore
import TestKit

/// Replicas that write, remove and collect their removals while one of them is mostly away.
///
/// In the end all must show the same, and nothing that whoever overwrote or removed it had seen.
package struct CollectionHistory: SeededHistory {
  private static let paths: [[TextKey]] = [["a"], ["b"], ["c"], ["m"], ["m", "x"], ["m", "y"], ["n"]]

  private let seed: UInt64
  private let isRepairing: Bool
  private var generator: SeededGenerator
  private var peers = (1...4).map { Peer($0) }
  private var now: UInt64 = 1_000
  private let lifetime: UInt64
  /// What was overwritten or removed by somebody who saw it.
  private var ended: Set<String> = []
  package let stepCount: Int
  package var trace: Trace?

  package init(seed: UInt64, isRepairing: Bool = true) {
    self.seed = seed
    self.isRepairing = isRepairing
    generator = SeededGenerator(seed: seed)
    lifetime = generator.pick([0, 5, 40])
    stepCount = 10 + generator.int(below: 40)
  }

  package mutating func run(step: Int) throws {
    generator = SeededGenerator(seed: seed, step: step)
    now += UInt64(generator.int(below: 4))
    let index = generator.int(below: 4)
    let skewed = now + UInt64(generator.pick([30, 30, 30, 0, 36])) - 30
    switch generator.int(below: 100) {
    case ..<12:
      let path = generator.pick(Self.paths)
      trace?.add("\(index) upserts \(step) at \(path), \(skewed)")
      try write(at: path, index) { try $0.upsert(Self.fields(path, .int(Int64(step))), now: skewed) }
    case ..<34:
      guard peers[index].isAlive else { return }
      let path = generator.pick(Self.paths)
      let value = Value.int(Int64(step))
      let edit: Edit = generator.oneIn(4) ? .replace(path, value) : .set(path, value)
      trace?.add("\(index): \(edit) at \(skewed)")
      try write(at: path, index) { try $0.update([edit], now: skewed) }
    case ..<52:
      guard peers[index].isAlive else { return }
      let path = generator.pick(Self.paths)
      end(at: path, index, isRemoval: true)
      trace?.add("\(index) removes \(path) at \(skewed)")
      try peers[index].update([.remove(path)], now: skewed)
    case ..<54: try count(index, step, now: skewed)
    case ..<56:
      trace?.add("\(index) deletes at \(skewed)")
      try peers[index].remove(now: skewed)
    case ..<60:
      let path = generator.pick(Self.paths)
      trace?.add("\(index) inserts the default of \(path)")
      try peers[index].upsert(Self.fields(path, .int(-1)), .insertDefaultIfAbsent)
    case ..<72:
      // A tombstone stays: certificates have a campaign of their own.
      guard peers[index].isAlive else { return }
      trace?.add("\(index) collects")
      try peers[index].collect(before: ClockReading(milliseconds: now - lifetime))
    default:
      let other = (index + 1 + generator.int(below: 3)) % 4
      guard index != 3 && other != 3 || generator.oneIn(4) else { return }
      trace?.add("\(index) pulls from \(other)")
      try pull(index, other)
    }
  }

  private mutating func count(_ index: Int, _ step: Int, now: UInt64) throws {
    guard peers[index].isAlive else { return }
    let edit: Edit = generator.oneIn(4) ? .restart(["n"], 0) : .increment(["n"], Int64(step))
    trace?.add("\(index): \(edit) at \(now)")
    do {
      try peers[index].update([edit], now: now)
    } catch let error as DocumentError where error.code == .notACounter {
      // What stands there is no number.
    }
  }

  private static func fields(_ path: [TextKey], _ value: Value) -> [TextKey: Value] {
    path.count == 1 ? [path[0]: value] : [path[0]: .map([path[1]: value])]
  }

  private static func leaves(_ fields: [TextKey: Value]) -> [(path: [TextKey], value: Value)] {
    fields.flatMap { key, value in
      if case .map(let below) = value, !below.isEmpty {
        return leaves(below).map { ([key] + $0.path, $0.value) }
      }
      return [([key], value)]
    }
  }

  /// Writes a number, unless it would take the place of a counter.
  private mutating func write(
    at path: [TextKey], _ index: Int, _ body: (inout Peer) throws -> Bool
  ) throws {
    let former = ended
    end(at: path, index)
    do {
      _ = try body(&peers[index])
    } catch let error as DocumentError where error.code == .isACounter {
      ended = former
    }
  }

  /// Notes what a write at `path` ends: what stands there, below it, or in the way above it, where
  /// there is nothing to remove.
  private mutating func end(at path: [TextKey], _ index: Int, isRemoval: Bool = false) {
    guard let fields = try? peers[index].fields else { return }
    for leaf in Self.leaves(fields) where leaf.value != .map([:]) {
      // A count that others go on adding to may come to the same sum again.
      if case .counter = leaf.value { continue }
      if leaf.path.starts(with: path) || !isRemoval && path.starts(with: leaf.path) {
        ended.insert(Self.name(leaf))
      }
    }
  }

  private static func name(_ leaf: (path: [TextKey], value: Value)) -> String {
    "\(leaf.path.map(\.text).joined(separator: ".")) = \(leaf.value)"
  }

  private mutating func pull(_ to: Int, _ from: Int) throws {
    if isRepairing, generator.oneIn(3), peers[from].document != nil, try !peers[to].vector.isEmpty {
      // Whole, it also tells what is not there any more.
      try peers[to].repair(peers[from].wire())
    } else {
      try peers[to].pull(peers[from])
    }
    guard isRepairing, peers[to].document != nil, peers[from].document != nil,
      try peers[to].vector == peers[from].vector,
      peers[to].document?.summary != peers[from].document?.summary
    else { return }
    let (here, there) = (try peers[to].wire(), try peers[from].wire())
    try peers[to].repair(there)
    try peers[from].repair(here)
    guard peers[to].document?.summary == peers[from].document?.summary else {
      throw LawFailure("a repair left a difference between \(to) and \(from)")
    }
  }

  package mutating func finish() throws {
    for _ in 0..<6 {
      for to in peers.indices { for from in peers.indices where from != to { try pull(to, from) } }
    }
    let views = try peers.map { try $0.fields }
    guard views.allSatisfy({ $0 == views[0] }) else { throw LawFailure("replicas diverged") }
    let summaries = peers.map { $0.document?.summary }
    guard summaries.allSatisfy({ $0 == summaries[0] }) else { throw LawFailure("summaries diverged") }
    for leaf in Self.leaves(views[0] ?? [:]) where ended.contains(Self.name(leaf)) {
      throw LawFailure("what its remover had seen came back: \(Self.name(leaf))")
    }
  }
}
