import CRDTCore
import TestKit

/// Devices that write, count, evict and sync while their stores are copied bit by bit and put back, which nothing notices.
///
/// Whoever opens a store writes as an opening of its own, so that two branches have no writer in common. In the end every device
/// must show the last write of each field, and the sum of all increments, that any of them knows of.
package struct ForkHistory: SeededHistory {
  /// What an opening is, for claim and controls.
  package enum Openings: Sendable {
    case separate
    /// Its readings are those that any other opening at that time has.
    case withoutRandomBits
    /// It goes on as the one before it.
    case none
  }

  private enum Operation {
    case write(field: Int, value: Int64?, stamp: Stamp)
    case increment(Int64)
  }

  private struct Device {
    var peer: Peer
    var known: Set<Int> = []
  }

  private static let fields: [TextKey] = ["x", "y", "z"]
  private static let mostForks = 6

  private let seed: UInt64
  private let openings: Openings
  private var generator: SeededGenerator
  private var devices: [Device]
  private var images: [(of: Int, device: Device)] = []
  private var operations: [Operation] = []
  private var forks = 0
  private var openingCount: UInt64 = 0
  private var now: UInt64 = 1_000
  package let stepCount: Int
  package var trace: Trace?

  private let isLong: Bool

  /// - Parameters:
  ///   - seed: Of the history.
  ///   - openings: What an opening is.
  ///   - isLong: A document comes to more births than its vector keeps.
  package init(seed: UInt64, _ openings: Openings = .separate, isLong: Bool = false) {
    self.seed = seed
    self.openings = openings
    self.isLong = isLong
    generator = SeededGenerator(seed: seed)
    stepCount = isLong ? 400 : 10 + generator.int(below: 50)
    devices = (1...4).map { Device(peer: Peer($0)) }
    // A clock that is ahead, by which its copies go on.
    if generator.oneIn(3) {
      devices[0].peer.clock = HybridClock(latest: ClockReading(milliseconds: now + 40))
    }
  }

  package mutating func run(step: Int) throws {
    generator = SeededGenerator(seed: seed, step: step)
    now += UInt64(generator.int(below: 3))
    let index = generator.int(below: devices.count)
    switch generator.int(below: 100) {
    case ..<28: try write(index, operations.isEmpty ? 0 : Int64(operations.count))
    case ..<40: try increment(index)
    case ..<48: try write(index, nil)
    case ..<58: open(index)
    case ..<66: copy(index)
    case ..<72: images.append((index, devices[index]))
    case ..<77: putBack()
    case ..<80:
      trace?.add("\(index) evicts")
      devices[index].peer.evict()
      devices[index].known = []
    default:
      let from = (index + 1 + generator.int(below: devices.count - 1)) % devices.count
      trace?.add("\(index) pulls from \(from)")
      try pull(index, from)
    }
  }

  // MARK: - Openings and forks

  private mutating func open(_ index: Int) {
    switch openings {
    case .separate:
      // A store draws them; here no two openings have the same ones, as they have in one of 32,768 pairs.
      openingCount += 1
      let bits = (generator.next() & ~0x7FFF) | (openingCount &* 0x5A1D & 0x7FFF)
      devices[index].peer.open(random: bits, now: now)
    case .withoutRandomBits: devices[index].peer.open(random: 0, now: now)
    case .none: return
    }
    trace?.add("\(index) is opened at \(now)")
  }

  /// A copy joins, while the original runs or before it is opened again.
  private mutating func copy(_ index: Int) {
    guard forks < Self.mostForks else { return }
    forks += 1
    trace?.add("\(devices.count) is a copy of \(index)")
    devices.append(devices[index])
    open(devices.count - 1)
    if generator.oneIn(2) { open(index) }
  }

  private mutating func putBack() {
    guard forks < Self.mostForks, !images.isEmpty else { return }
    forks += 1
    let image = images.remove(at: generator.int(below: images.count))
    trace?.add("\(image.of) is put back")
    devices[image.of] = image.device
    open(image.of)
  }

  // MARK: - Writes

  private mutating func note(_ operation: Operation, _ index: Int) {
    devices[index].known.insert(operations.count)
    operations.append(operation)
  }

  private mutating func revive(_ index: Int) throws {
    if !devices[index].peer.isAlive { try devices[index].peer.upsert([:], now: now) }
  }

  private mutating func write(_ index: Int, _ value: Int64?) throws {
    try revive(index)
    let field = generator.int(below: Self.fields.count)
    let key = Self.fields[field]
    trace?.add("\(index) sets \(key) to \(value.map { "\($0)" } ?? "nothing") at \(now)")
    let edit: Edit = value.map { .set([key], .int($0)) } ?? .remove([key])
    guard try devices[index].peer.update([edit], now: now) else { return }
    let peer = devices[index].peer
    let stamp = Stamp(reading: try peer.vector.latest, site: peer.site)
    note(.write(field: field, value: value, stamp: stamp), index)
  }

  private mutating func increment(_ index: Int) throws {
    try revive(index)
    let amount = generator.pick([1, 10, 100] as [Int64])
    trace?.add("\(index) adds \(amount) at \(now)")
    try devices[index].peer.update([.increment(["n"], amount)], now: now)
    note(.increment(amount), index)
  }

  private mutating func pull(_ to: Int, _ from: Int) throws {
    try devices[to].peer.pull(devices[from].peer, whole: generator.oneIn(3))
    devices[to].known.formUnion(devices[from].known)
  }

  // MARK: - In the end

  package mutating func finish() throws {
    for _ in 0..<2 {
      for to in devices.indices { for from in devices.indices where from != to { try pull(to, from) } }
    }
    let views = try devices.map { try $0.peer.fields ?? [:] }
    try LawFailure.unless(views.allSatisfy { $0 == views[0] }, "the devices differ: \(views)")
    let summaries = devices.map { $0.peer.document?.summary }
    try LawFailure.unless(summaries.allSatisfy { $0 == summaries[0] }, "the summaries differ")
    for device in devices {
      let summary = try device.peer.decodedSummary
      try LawFailure.unless(summary == device.peer.document?.summary, "a summary is not the state's")
    }
    // Who still lists superseded writers is no part of the state.
    let wires = try devices.map { try $0.peer.wire() }
    try LawFailure.unless(isLong || wires.allSatisfy { $0 == wires[0] }, "the bytes differ")
    let known = devices.reduce(into: Set<Int>()) { $0.formUnion($1.known) }
    var sum: Int64?
    // Two openings of a store may write under one stamp, in a document that is ahead of their clocks.
    var last: [Int: (stamp: Stamp, values: Set<Int64?>)] = [:]
    for number in known {
      switch operations[number] {
      case .increment(let amount): sum = (sum ?? 0) + amount
      case .write(let field, let value, let stamp):
        if last[field]?.stamp == stamp { last[field]?.values.insert(value) }
        if last[field].map({ $0.stamp < stamp }) ?? true { last[field] = (stamp, [value]) }
      }
    }
    let count: Int64? =
      switch views[0]["n"] {
      case .int(let value)?, .counter(let value)?: value
      default: nil
      }
    try LawFailure.unless(count == sum, "the count is \(count ?? 0), not \(sum ?? 0)")
    for (field, key) in Self.fields.enumerated() {
      let values = last[field]?.values ?? [nil]
      try LawFailure.unless(
        values.contains { views[0][key] == $0.map { .int($0) } },
        "\(key) is \(views[0][key].map { "\($0)" } ?? "nothing"), and none of \(values)")
    }
  }
}
